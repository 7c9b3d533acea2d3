import type { Clock } from '@tiered/core';
import { onAbort } from '@tiered/core/internal';
import type { ServerResponse } from 'node:http';
import { LEAST_PIECE } from '../hierarchy/piece-memory.js';

/** What a sender works with. */
export interface SenderParts {
  readonly response: ServerResponse;
  /** Aborts when the connection is gone. */
  readonly gone: AbortSignal;
  readonly clock: Clock;
  /** See `GatewayLimits`. */
  readonly stallMs: number;
}

/**
 * Sends the body of an answer as fast as the client takes it: each call resolves when the kernel has the
 * bytes. A client that takes nothing for a while is cut off.
 */
export class Sender {
  readonly #parts: SenderParts;
  readonly #ended = new AbortController();
  #isLookedAt = false;
  #isWatched = false;
  #isEnded = false;
  /** Since when the client has not taken what was given to it. Undefined: it has. */
  #waitsSince: number | undefined;
  /** For how long it has been waited for, and how many bytes it has taken in that time. */
  #waitedMs = 0;
  #taken = 0;
  #bytes = 0;

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  /** Bytes that were sent. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Sends bytes, in slices, each of which a client has to take in time. The last ones of an answer end it:
   * that costs no call of its own.
   */
  async send(bytes: Uint8Array, isLast = false): Promise<void> {
    const { response } = this.#parts;
    for (let at = 0; at < bytes.byteLength; at += LEAST_PIECE) {
      const slice = bytes.subarray(at, at + LEAST_PIECE);
      this.#isEnded = isLast && at + LEAST_PIECE >= bytes.byteLength;
      await this.#take((done) => (this.#isEnded ? response.end(slice, done) : response.write(slice, done)));
      this.#bytes += slice.byteLength;
      this.#taken += slice.byteLength;
      // Small slices count together: a client that takes one of them now and then gets nowhere.
      if (this.#taken >= LEAST_PIECE) this.#taken = this.#waitedMs = 0;
    }
  }

  /** Ends the answer if that has not happened, and waits until all of it is sent. */
  async end(): Promise<void> {
    if (!this.#isEnded) await this.#take((done) => this.#parts.response.end(done));
  }

  /** Nothing is sent any more. */
  close(): void {
    if (this.#isWatched) this.#ended.abort(new Error('The answer has ended.'));
  }

  async #take(begin: (done: (error?: Error | null) => void) => void): Promise<void> {
    const { gone, clock } = this.#parts;
    const since = clock.now();
    this.#waitsSince = since;
    void this.#watchIfSlow();
    try {
      await new Promise<void>((resolve, reject) => {
        const stopListening = onAbort(gone, reject);
        begin((error) => {
          stopListening();
          if (error == null) resolve();
          else reject(error);
        });
      });
    } finally {
      this.#waitsSince = undefined;
    }
    this.#waitedMs += clock.now() - since;
  }

  /** Most answers are with the kernel at once. A timer for each would cost as much as a small one. */
  async #watchIfSlow(): Promise<void> {
    if (this.#isLookedAt) return;
    this.#isLookedAt = true;
    await this.#parts.clock.turn();
    this.#isLookedAt = false;
    if (this.#waitsSince === undefined || this.#isWatched) return;
    this.#isWatched = true;
    await this.#watch();
  }

  /** Cuts a client off that has been waited for too long. */
  async #watch(): Promise<void> {
    const { response, clock, stallMs } = this.#parts;
    for (;;) {
      const isOver = await clock.sleep(stallMs, this.#ended.signal, { background: true }).then(
        () => false,
        () => true,
      );
      if (isOver) return;
      const waited = this.#waitedMs + clock.now() - (this.#waitsSince ?? Infinity);
      if (waited >= stallMs) {
        response.destroy();
        return;
      }
    }
  }
}
