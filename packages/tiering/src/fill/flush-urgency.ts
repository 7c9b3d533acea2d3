import type { MemoryBudget } from './memory-budget.js';

/**
 * Whether copies that are gathered to be written together must be written at once. That is so if somebody
 * waits until all is placed, or for the memory that they take, or if everything ends.
 */
export class FlushUrgency {
  readonly #budget: MemoryBudget;
  readonly #listeners = new Set<() => void>();
  #waiting = 0;

  /** @param budget The budget whose memory gathered copies take. */
  constructor(budget: MemoryBudget) {
    this.#budget = budget;
    budget.on('wait', () => this.tell());
  }

  get isNeeded(): boolean {
    return this.#waiting > 0 || this.#budget.isWaitedFor;
  }

  /** Somebody waits until all is placed. Returns a function that ends this. */
  begin(): () => void {
    this.#waiting += 1;
    this.tell();
    return () => void (this.#waiting -= 1);
  }

  /** Tells the listeners that something may have become urgent. */
  tell(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Calls a listener when something may have become urgent. Returns a function that ends this. */
  on(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
