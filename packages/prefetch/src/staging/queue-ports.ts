import type { Block } from './arena.js';

/** Gives a queue memory for its samples. */
export interface MemoryPort {
  /**
   * Returns memory for a sample; undefined if there is no room.
   * @param isNeeded Whether memory must be found in any case, beyond the limits if need be.
   * @throws RangeError if `isNeeded` and no memory can be had.
   */
  take(bytes: number, isNeeded: boolean): Block | undefined;
  /**
   * Returns memory for an object that has another size than expected. It is found in any case.
   * @throws RangeError if no memory can be had.
   */
  outside(bytes: number): Block;
  /**
   * What is held will never be used again for something else: consumers may still look at it after the end,
   * and reads that were aborted may still write to it.
   */
  abandon(): void;
  /** Whether there is room for a sample, or nothing beside it, with what other queues hold. */
  hasRoomFor(bytes: number): boolean;
}

/**
 * Is told when producers may have something to do, or nothing more. A call may come back to the queue before
 * it returns.
 */
export interface WorkPort {
  /** Something may be admitted, or is wanted: a consumer came or left, or an access has come. */
  available(): void;
  /** Memory was given back. Called for each sample, so it must cost nothing while there is room anyway. */
  released(): void;
  /** The last sample was taken, or the queue has failed. May be called more than once. */
  ended(): void;
}

/** Counts what goes through a queue. */
export interface FlowPort {
  /** So many more consumers wait. */
  starving(change: number): void;
  /** The next sample had no room when its turn came. Called once for each sample. */
  refused(): void;
  /** A sample was put in or taken out. */
  moved(taken: Taken): void;
}

/** What consumers took at once, of one epoch. */
export interface Taken {
  readonly samples: number;
  readonly bytes: number;
  readonly epoch: number;
}

/** All that a queue knows of its owner. */
export interface QueuePorts {
  readonly memory: MemoryPort;
  readonly work: WorkPort;
  readonly flow: FlowPort;
}
