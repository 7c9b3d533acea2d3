import type { Block } from './arena.js';
import type { Lender } from './lender.js';
import type { MemoryPort } from './queue-ports.js';
import type { Waiters } from './waiters.js';
import type { Window } from './window.js';

/** Bounds the samples of a queue: their bytes, and, as in PRISMA, their number. */
export class Room {
  readonly #window: Window;
  readonly #lender: Lender;
  readonly #memory: MemoryPort;
  readonly #waiters: Waiters;
  /**
   * Most samples that may be ready for consumers, PRISMA's N. As many more as there are producers may be on
   * their way: being read, or held until there is room.
   */
  mostSamples = Infinity;
  producers = Infinity;

  constructor(window: Window, lender: Lender, memory: MemoryPort, waiters: Waiters) {
    this.#window = window;
    this.#lender = lender;
    this.#memory = memory;
    this.#waiters = waiters;
  }

  /**
   * Whether each of its producers has a sample to read. There may be room for more samples, but no producer
   * to read them.
   */
  get areProducersBusy(): boolean {
    const { count, settled } = this.#window;
    return count - settled >= this.producers && settled < this.mostSamples;
  }

  /**
   * Returns memory for the next sample; undefined if there is no room.
   * @throws RangeError if the sample must be admitted in any case and no memory can be had.
   */
  take(bytes: number): Block | undefined {
    const { count, settled } = this.#window;
    if (count >= Math.min(this.mostSamples, settled) + this.producers) return undefined;
    const isAlone = this.#lender.count === 0 && this.#memory.hasRoomFor(bytes);
    const isNeeded = count === 0 && (isAlone || this.#waiters.count > 0);
    return this.#memory.take(bytes, isNeeded);
  }
}
