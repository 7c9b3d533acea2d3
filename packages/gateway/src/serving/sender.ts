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
  #steps = 0;
  #isWaiting = false;
  #bytes = 0;

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  /** Bytes that were sent. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Sends bytes, in slices, each of which a client has to take in time. */
  async send(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.byteLength; at += LEAST_PIECE) {
      const slice = bytes.subarray(at, at + LEAST_PIECE);
      await this.#taken((done) => this.#parts.response.write(slice, done));
      this.#bytes += slice.byteLength;
    }
  }

  /** Ends the answer, and waits until all of it is sent. */
  end(): Promise<void> {
    return this.#taken((done) => this.#parts.response.end(done));
  }

  /** Nothing is sent any more. */
  close(): void {
    this.#ended.abort(new Error('The answer has ended.'));
  }

  async #taken(begin: (done: (error?: Error | null) => void) => void): Promise<void> {
    const { gone } = this.#parts;
    if (this.#steps === 0) void this.#watch();
    this.#steps += 1;
    this.#isWaiting = true;
    await new Promise<void>((resolve, reject) => {
      const stopListening = onAbort(gone, reject);
      begin((error) => {
        stopListening();
        if (error == null) resolve();
        else reject(error);
      });
    });
    this.#isWaiting = false;
  }

  /** Cuts a client off that has taken nothing from one look to the next. */
  async #watch(): Promise<void> {
    const { response, clock, stallMs } = this.#parts;
    for (let before = -1; ;) {
      const isOver = await clock.sleep(stallMs, this.#ended.signal, { background: true }).then(
        () => false,
        () => true,
      );
      if (isOver) return;
      if (this.#isWaiting && this.#steps === before) {
        response.destroy();
        return;
      }
      before = this.#steps;
    }
  }
}
