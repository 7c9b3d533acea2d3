import type { Clock } from '@tiered/core';
import { LEAST_PIECE } from '../hierarchy/piece-memory.js';

/** How long a client is waited for. */
export interface PatienceOptions {
  readonly clock: Clock;
  /** See `GatewayLimits`. */
  readonly stallMs: number;
  /** Ends the connection. */
  readonly cutOff: () => void;
}

/** Waits for a client to take bytes, or to bring them. One that does nothing for a while is cut off. */
export class Patience {
  readonly #options: PatienceOptions;
  readonly #ended = new AbortController();
  #isLookedAt = false;
  #isWatched = false;
  #isClosed = false;
  /** Since when the client is waited for. Undefined: it is not. */
  #waitsSince: number | undefined;
  /** For how long it has been waited for, and how many bytes it has moved in that time. */
  #waitedMs = 0;
  #moved = 0;

  constructor(options: PatienceOptions) {
    this.#options = options;
  }

  /** Waits for what the client does. */
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

  /** The client has moved bytes. Few count together: a client that moves some now and then gets nowhere. */
  count(bytes: number): void {
    this.#moved += bytes;
    if (this.#moved >= LEAST_PIECE) this.#moved = this.#waitedMs = 0;
  }

  /** The client is not waited for any more. */
  close(): void {
    this.#isClosed = true;
    if (this.#isWatched) this.#ended.abort(new Error('The client is not waited for any more.'));
  }

  /** Most bytes are with the kernel at once. A timer for each answer would cost as much as a small one. */
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
