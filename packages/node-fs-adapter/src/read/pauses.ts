/**
 * How often a way that turned out to be slow is tried again. After a slow time it is left out as many times as it took
 * longer than it should, within a bound, so that a hiccup costs next to nothing and a disk that has to move a pause;
 * then for twice as many as before, up to another bound, as long as slow ones follow each other.
 */
export class Pauses {
  readonly #longestFirst: number;
  readonly #longest: number;
  /** The last pause, while slow times follow each other. */
  #last = 0;
  #left = 0;

  constructor(longestFirst: number, longest: number) {
    this.#longestFirst = longestFirst;
    this.#longest = longest;
  }

  /** Whether it is left out this time. */
  leaveOut(): boolean {
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }

  /** It was tried, and took so many times as long as it may: up to 1 is fast. */
  learn(times: number): void {
    const first = Math.min(this.#longestFirst, Math.ceil(times));
    this.#last = times <= 1 ? 0 : Math.min(this.#longest, Math.max(first, 2 * this.#last));
    this.#left = this.#last;
  }
}
