import { EventEmitter } from 'eventemitter3';
import type { Clock } from '@tiered/core';
import pLimit, { type LimitFunction } from 'p-limit';

/** Writes between two decisions about the concurrency. After fewer, chance would decide. */
const WINDOW = 128;
/** Maximum number of concurrent writes: with more, object stores gain little, and disks nothing. */
const MOST = 32;
/**
 * A higher concurrency is kept if the speed grows by at least `GAIN`; a lower one if the speed stays at least
 * at `LOSS` of its value.
 */
const GAIN = 1.1;
const LOSS = 0.98;
/** Windows between a trial without a gain and the next one. */
const REST = 8;

/**
 * Runs as many concurrent writes to tiers as increase their throughput, and no more.
 *
 * A disk behind blocking calls gains nothing from a second concurrent write, and Node's thread pool nothing
 * from a fifth; a store behind a network gains much even from a thirtieth. The remaining capacity is left to
 * readers. So while writes queue, doubling or halving the concurrency is tried for a while, and kept if the
 * measured throughput supports it.
 */
export class Writers extends EventEmitter<{
  /** A write begins to wait for its turn. */
  wait: () => void;
}> {
  readonly #clock: Clock;
  readonly #pool: LimitFunction;
  #since = 0;
  #bytes = 0;
  #writes = 0;
  #factor = 2;
  #rest = 0;
  /** The state before the trial in progress. */
  #before: { readonly concurrency: number; readonly rate: number } | undefined;

  /** @param concurrency Initial number of concurrent writes. */
  constructor(concurrency: number, clock: Clock) {
    super();
    this.#pool = pLimit(concurrency);
    this.#clock = clock;
  }

  /** Current number of concurrent writes. */
  get concurrency(): number {
    return this.#pool.concurrency;
  }

  /** Whether a write waits for its turn. */
  get isWaitedFor(): boolean {
    return this.#pool.pendingCount > 0;
  }

  /** Runs a write of this many bytes when its turn comes. */
  run<T>(bytes: number, write: () => Promise<T>): Promise<T> {
    const isBusy = this.#pool.activeCount >= this.#pool.concurrency;
    const written = this.#pool(async () => {
      try {
        return await write();
      } finally {
        this.#wrote(bytes);
      }
    });
    if (isBusy) this.emit('wait');
    return written;
  }

  #wrote(bytes: number): void {
    // If no write waits, the source sets the pace, and the speed says nothing about the tier.
    if (this.#pool.pendingCount === 0) this.#begin();
    else {
      this.#bytes += bytes;
      this.#writes += 1;
    }
    if (this.#writes < WINDOW) return;
    const ms = this.#clock.now() - this.#since;
    if (ms > 0) this.#decide(this.#bytes / ms);
    this.#begin();
  }

  #begin(): void {
    this.#since = this.#clock.now();
    this.#bytes = 0;
    this.#writes = 0;
  }

  #decide(rate: number): void {
    const before = this.#before;
    const { concurrency } = this.#pool;
    this.#before = undefined;
    if (before !== undefined) {
      if (rate >= before.rate * (concurrency > before.concurrency ? GAIN : LOSS)) return;
      this.#pool.concurrency = before.concurrency;
      this.#factor = 1 / this.#factor;
      this.#rest = REST;
      return;
    }
    if (this.#rest > 0) {
      this.#rest -= 1;
      return;
    }
    const next = Math.min(MOST, Math.max(1, Math.ceil(concurrency * this.#factor)));
    if (next === concurrency) this.#factor = 1 / this.#factor;
    else {
      this.#before = { concurrency, rate };
      this.#pool.concurrency = next;
    }
  }
}
