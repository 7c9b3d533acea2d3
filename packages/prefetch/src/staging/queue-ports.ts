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
   * Returns memory for an object that does not have the expected size. It is found in any case.
   * @throws RangeError if no memory can be had.
   */
  outside(bytes: number): Block;
  /**
   * Never reuses the memory that is still held: consumers may still look at it after the end, and aborted
   * reads may still write to it.
   */
  abandon(): void;
  /** Whether there is room for a sample beside the memory that all queues hold, or they hold nothing. */
  hasRoomFor(bytes: number): boolean;
}

/** Told when producers may have work, or no more work. A call may re-enter the queue before it returns. */
export interface WorkPort {
  /** Something may be admitted, or is wanted: a consumer came or left, or an access has arrived. */
  available(): void;
  /** Memory was freed. Called for each sample, so it must cost nothing while there is room anyway. */
  released(): void;
  /** The last sample was taken, or the queue has failed. May be called more than once. */
  ended(): void;
}

/** Counts what goes through a queue. */
export interface FlowPort {
  /** The number of waiting consumers has changed by this much. */
  starving(change: number): void;
  /** The next sample had no room when its turn came. Called once for each sample. */
  refused(): void;
  /** A sample was added or taken. */
  moved(taken: Taken): void;
}

/** Samples of one epoch that consumers took at once. */
export interface Taken {
  readonly samples: number;
  readonly bytes: number;
  readonly epoch: number;
}

/** The owner, as its queue knows it. */
export interface QueuePorts {
  readonly memory: MemoryPort;
  readonly work: WorkPort;
  readonly flow: FlowPort;
}
