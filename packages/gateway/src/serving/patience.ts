import type { Clock } from '@tiered/core';
import { LEAST_PIECE } from '../hierarchy/piece-memory.js';

/** How long to wait for a client. */
export interface PatienceOptions {
  readonly clock: Clock;
  /** See `GatewayLimits`. */
  readonly stallMs: number;
  /** Closes the connection. */
  readonly cutOff: () => void;
}

/** Waits for a client to take bytes, or to send them. A client that is idle for a while is cut off. */
export class Patience {
  readonly #options: PatienceOptions;
  readonly #ended = new AbortController();
  #isLookedAt = false;
  #isWatched = false;
  #isClosed = false;
  /** Since when the client has been waited for. Undefined: it is not. */
  #waitsSince: number | undefined;
  /** How long it has been waited for, and how many bytes it has moved in that time. */
  #waitedMs = 0;
  #moved = 0;

  constructor(options: PatienceOptions) {
    this.#options = options;
  }

  /** Waits for the client's next step. */
  async wait<T>(work: Promise<T>): Promise<T> {
    const { clock } = this.#options;
    const since = clock.now();
    this.#waitsSince = since;
    void this.#watchIfSlow();
    try {
      return await work;
    } finally {
      this.#waitsSince = undefined;
      this.#waitedMs += clock.now() - since;
    }
  }

  /**
   * Counts bytes that the client has moved. Small amounts add up: trickling bytes does not reset the time.
   */
  count(bytes: number): void {
    this.#moved += bytes;
    if (this.#moved >= LEAST_PIECE) this.#moved = this.#waitedMs = 0;
  }

  /** Stops waiting for the client. */
  close(): void {
    this.#isClosed = true;
    if (this.#isWatched) this.#ended.abort(new Error('The client is not waited for any more.'));
  }

  /** Most bytes are in the kernel at once. A timer per answer would cost as much as a small answer. */
  async #watchIfSlow(): Promise<void> {
    if (this.#isLookedAt || this.#isWatched) return;
    this.#isLookedAt = true;
    await this.#options.clock.turn();
    this.#isLookedAt = false;
    if (this.#isClosed || this.#waitsSince === undefined) return;
    this.#isWatched = true;
    await this.#watch();
  }

  async #watch(): Promise<void> {
    const { clock, stallMs, cutOff } = this.#options;
    for (;;) {
      const isOver = await clock.sleep(stallMs, this.#ended.signal, { background: true }).then(
        () => false,
        () => true,
      );
      if (isOver) return;
      const waited = this.#waitedMs + clock.now() - (this.#waitsSince ?? Infinity);
      if (waited >= stallMs) {
        cutOff();
        return;
      }
    }
  }
}
