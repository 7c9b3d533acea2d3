import { EventEmitter } from 'eventemitter3';
import type { MemoryBudget } from './memory-budget.js';

/**
 * Whether copies that are gathered to be written together must be written at once. That is so if somebody
 * waits until all is placed, or for the memory that they take, or if everything ends.
 */
export class FlushUrgency extends EventEmitter<{
  /** It may have become so. */
  urgent: () => void;
}> {
  readonly #budget: MemoryBudget;
  #waiting = 0;

  /** @param budget The budget whose memory gathered copies take. */
  constructor(budget: MemoryBudget) {
    super();
    this.#budget = budget;
    budget.on('wait', () => this.emit('urgent'));
  }

  get isNeeded(): boolean {
    return this.#waiting > 0 || this.#budget.isWaitedFor;
  }

  /** Somebody waits until all is placed. Returns a function that ends this. */
  begin(): () => void {
    this.#waiting += 1;
    this.emit('urgent');
    return () => void (this.#waiting -= 1);
  }
}
