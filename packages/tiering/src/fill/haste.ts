import type { MemoryBudget } from '../source/memory-budget.js';

/**
 * Whether what is gathered, to be written together, is to be written at once: somebody waits until all is placed, or for the memory that
 * it takes, or everything ends.
 */
export class Haste {
  readonly #budget: MemoryBudget;
  readonly #listeners = new Set<() => void>();
  #waiting = 0;

  /** @param budget What is gathered takes memory of it. */
  constructor(budget: MemoryBudget) {
    this.#budget = budget;
    budget.onWait = () => this.tell();
  }

  get is(): boolean {
    return this.#waiting > 0 || this.#budget.isWaitedFor;
  }

  /** Somebody waits until all is placed. Returns how that ends. */
  begin(): () => void {
    this.#waiting += 1;
    this.tell();
    return () => void (this.#waiting -= 1);
  }

  /** Something may have become urgent. */
  tell(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Calls a listener when something may have become urgent. Returns how that ends. */
  on(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
