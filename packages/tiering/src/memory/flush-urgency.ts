import { EventEmitter } from 'eventemitter3';
import type { MemoryBudget } from './memory-budget.js';
import type { Writers } from './writers.js';

/**
 * Whether gathered copies must be written at once, rather than together with later ones. It is urgent if a
 * caller waits until everything is placed, or for the memory that copies take, or if everything ends.
 * Recording written files is also urgent if another write waits for their turn.
 */
export class FlushUrgency extends EventEmitter<{
  /** Writing may have become urgent. */
  urgent: () => void;
}> {
  readonly #budget: MemoryBudget;
  readonly #writers: Writers;
  #waiting = 0;

  /**
   * @param budget The budget whose memory gathered copies take.
   * @param writers The turns that files hold until they are recorded.
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

  /** Records that a caller waits until everything is placed. Returns a function that ends this. */
  begin(): () => void {
    this.#waiting += 1;
    this.emit('urgent');
    return () => void (this.#waiting -= 1);
  }
}
