import { Chain } from './chain.js';

/**
 * Work of which so much is under way at the same time, in the order in which it came.
 *
 * Not p-limit: its queue links each entry to the next one, also when both are done with. While work queues without pause, the first entry that
 * V8 takes for old keeps all that came after it, with their memory; and an entry costs it ten objects.
 */
export class Turns {
  readonly #waiting = new Chain<() => void>();
  #most: number;
  #underWay = 0;

  /** @param most Under way at the same time. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Under way at the same time, at most. */
  get most(): number {
    return this.#most;
  }

  set most(most: number) {
    this.#most = most;
    this.#next();
  }

  /** What waits for its turn. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Does a piece of work when it is its turn: at once, if it is. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#underWay < this.#most) this.#underWay += 1;
    else await new Promise<void>((resolve) => this.#waiting.add(resolve));
    try {
      return await work();
    } finally {
      this.#underWay -= 1;
      this.#next();
    }
  }

  #next(): void {
    for (let next = this.#waiting.first; next !== undefined && this.#underWay < this.#most;) {
      this.#waiting.remove(next);
      this.#underWay += 1;
      next.value();
      next = this.#waiting.first;
    }
  }
}
