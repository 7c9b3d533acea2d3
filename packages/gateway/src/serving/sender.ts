import type { Clock } from '@tiered/core';
import { onAbort } from '@tiered/core/internal';
import type { ServerResponse } from 'node:http';
import { LEAST_PIECE } from '../hierarchy/piece-memory.js';
import { Patience } from './patience.js';

/** The dependencies of a sender. */
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
  readonly #patience: Patience;
  #isEnded = false;
  #bytes = 0;

  constructor(parts: SenderParts) {
    this.#parts = parts;
    const { response, clock, stallMs } = parts;
    this.#patience = new Patience({ clock, stallMs, cutOff: () => response.destroy() });
  }

  /** Bytes sent so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Sends bytes in slices. A client has to take each slice in time. The last bytes also end the answer, which
   * saves a call.
   */
  async send(bytes: Uint8Array, isLast = false): Promise<void> {
    const { response } = this.#parts;
    for (let at = 0; at < bytes.byteLength; at += LEAST_PIECE) {
      const slice = bytes.subarray(at, at + LEAST_PIECE);
      this.#isEnded = isLast && at + LEAST_PIECE >= bytes.byteLength;
      await this.#take((done) => (this.#isEnded ? response.end(slice, done) : response.write(slice, done)));
      this.#bytes += slice.byteLength;
      this.#patience.count(slice.byteLength);
    }
  }

  /** Ends the answer unless it has ended, and waits until all of it is sent. */
  async end(): Promise<void> {
    if (!this.#isEnded) await this.#take((done) => this.#parts.response.end(done));
  }

  /** Stops sending. */
  close(): void {
    this.#patience.close();
  }

  #take(begin: (done: (error?: Error | null) => void) => void): Promise<void> {
    const { gone } = this.#parts;
    return this.#patience.wait(
      new Promise<void>((resolve, reject) => {
        const stopListening = onAbort(gone, reject);
        begin((error) => {
          stopListening();
          if (error == null) resolve();
          else reject(error);
        });
      }),
    );
  }
}
