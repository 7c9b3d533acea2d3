import type { Clock } from '@tiered/core';
import pLimit, { type LimitFunction } from 'p-limit';

/** Writes after which their number at a time is looked at again: fewer are decided by accidents. */
const WINDOW = 128;
/** At a time at most: beyond that object stores gain little, and disks nothing. */
const MOST = 32;
/** More writes at a time are kept for so much more speed; fewer, if they lose no more than that. */
const GAIN = 1.1;
const LOSS = 0.98;
/** Windows between one try that brought nothing and the next. */
const REST = 8;

/**
 * Writes to tiers, so many at a time: as many as make them faster, and no more. A disk behind blocking calls gains nothing
 * from a second write, Node's thread pool from a fifth, a store behind a network much from a thirtieth; and what writes do not need
 * readers have. So, while writes queue, twice or half as many are tried for a while, and kept if the bytes written in the
 * same time say so.
 */
export class Writers {
  readonly #clock: Clock;
  readonly #pool: LimitFunction;
  #since = 0;
  #bytes = 0;
  #writes = 0;
  #factor = 2;
  #rest = 0;
  /** What was before the try that is under way. */
  #before: { readonly concurrency: number; readonly rate: number } | undefined;

  /** @param concurrency Writes at a time at first. */
  constructor(concurrency: number, clock: Clock) {
    this.#pool = pLimit(concurrency);
    this.#clock = clock;
  }

  /** Writes at a time now. */
  get concurrency(): number {
    return this.#pool.concurrency;
  }

  /** Runs a write of so many bytes when it is its turn. */
  run<T>(bytes: number, write: () => Promise<T>): Promise<T> {
    return this.#pool(async () => {
      try {
        return await write();
      } finally {
        this.#wrote(bytes);
      }
    });
  }

  #wrote(bytes: number): void {
    // Nothing waits: the pace is that of the source, and says nothing of the tier.
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
