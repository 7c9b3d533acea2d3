import { EventEmitter } from 'eventemitter3';
import type { MemoryBudget } from './memory-budget.js';
import type { Writers } from './writers.js';

/**
 * Whether what is gathered, to be written together, must be written at once. That is so if somebody waits
 * until all is placed, or for the memory that copies take, or if everything ends. For the record of files
 * that were written, it is also so if another write waits for their turn.
 */
export class FlushUrgency extends EventEmitter<{
  /** It may have become so. */
  urgent: () => void;
}> {
  readonly #budget: MemoryBudget;
  readonly #writers: Writers;
  #waiting = 0;

  /**
   * @param budget The budget whose memory gathered copies take.
   * @param writers The turns that files keep until they are recorded.
   */
  constructor(budget: MemoryBudget, writers: Writers) {
    super();
    this.#budget = budget;
    this.#writers = writers;
    budget.on('wait', () => this.emit('urgent'));
    writers.on('wait', () => this.emit('urgent'));
  }

  get isNeeded(): boolean {
    return this.#waiting > 0 || this.#budget.isWaitedFor;
  }

  /** Whether a write waits for the turn of another one. */
  get isTurnWaitedFor(): boolean {
    return this.#writers.isWaitedFor;
  }

  /** Somebody waits until all is placed. Returns a function that ends this. */
  begin(): () => void {
    this.#waiting += 1;
    this.emit('urgent');
    return () => void (this.#waiting -= 1);
  }
}
