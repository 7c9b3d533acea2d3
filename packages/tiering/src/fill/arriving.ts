import type { Ticket } from '../source/gate.js';

/** A reader of a part of a chunk. */
interface Waiting {
  /** End of its part in the chunk. */
  readonly until: number;
  readonly take: () => void;
  readonly fail: (error: unknown) => void;
}

/**
 * A chunk that was requested and is not yet written. Its readers get their parts as soon as they arrive,
 * possibly long before the whole chunk. They get copies, made at that moment, because the memory is reused
 * for another chunk.
 */
export class Arriving {
  /** Resolves when the whole chunk has arrived. */
  readonly bytes: Promise<Uint8Array>;
  readonly ticket: Ticket | undefined;
  readonly #memory: Uint8Array;
  #waiting: Waiting[] = [];
  #here = 0;
  #failure: { readonly error: unknown } | undefined;

  /** @param fill Fills the memory, and reports how many bytes have arrived so far. */
  constructor(
    memory: Uint8Array,
    ticket: Ticket | undefined,
    fill: (progress: (bytes: number) => void) => Promise<void>,
  ) {
    this.#memory = memory;
    this.ticket = ticket;
    this.bytes = fill((bytes) => this.#arrived(bytes)).then(
      () => {
        this.#arrived(memory.byteLength);
        return memory;
      },
      (error: unknown) => {
        this.#failure = { error };
        for (const { fail } of this.#waiting) fail(error);
        this.#waiting = [];
        throw error;
      },
    );
  }

  /** Whether the whole chunk has arrived. */
  get isHere(): boolean {
    return this.#here === this.#memory.byteLength;
  }

  /**
   * Copies bytes from an offset of the chunk as soon as they have arrived. Copies nothing once the signal has
   * aborted. Rejects if the request for the chunk fails.
   */
  copy(target: Uint8Array, from: number, signal: AbortSignal | undefined): Promise<void> {
    const until = from + target.byteLength;
    return new Promise((resolve, fail) => {
      const take = () => {
        try {
          if (signal?.aborted !== true) target.set(this.#memory.subarray(from, until));
          resolve();
        } catch (error) {
          // The reader has transferred its memory, which does not affect the other readers.
          fail(error);
        }
      };
      if (until <= this.#here) take();
      else if (this.#failure !== undefined) fail(this.#failure.error);
      else this.#waiting.push({ until, take, fail });
    });
  }

  #arrived(bytes: number): void {
    this.#here = Math.max(this.#here, bytes);
    const here = this.#waiting.filter(({ until }) => until <= this.#here);
    if (here.length === 0) return;
    this.#waiting = this.#waiting.filter(({ until }) => until > this.#here);
    for (const { take } of here) take();
  }
}
