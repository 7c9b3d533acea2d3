import type { Clock } from '@tiered/core';
import { Chain, invariant, onAbort, type Link } from '@tiered/core/internal';
import { NO_BOUND, type Rate } from '../shares/rate.js';

/** Milliseconds of a share that may be used at once after lower use. */
const BURST_MS = 100;
/** One in this many admitted requests is the oldest, whether a caller waits for it or not. */
const OLDEST_EACH = 8;

/** The cost of a request, and its urgency. */
export interface PacedRequest {
  /** The most bytes the request can move. */
  readonly bytes: number;
  /** Operations; more than one for a batch. */
  readonly operations: number;
  /** Whether a caller waits for it. Undefined: yes. */
  readonly isWaitedFor?: (() => boolean) | undefined;
}

/** A request that waits for its turn. */
interface Waiting extends PacedRequest {
  readonly go: () => void;
}

/** Counts of admitted requests and of their waits, since the pace was made. */
export interface PaceCounts {
  readonly bytes: number;
  readonly operations: number;
  /** Milliseconds during which some request waited for the share. */
  readonly waitedMs: number;
  /** Milliseconds that ended requests took, summed, without their wait here. */
  readonly requestMs: number;
  /** Operations that have ended. */
  readonly ended: number;
}

/**
 * Admits requests to a source at the rate of a stage's share.
 *
 * **Problem.** A share is bytes and operations per second. Requests come in any size, many at a time, some in
 * the background. A share changes twice a second. Most of the time there is no bound at all, and then a
 * request must cost nothing.
 *
 * **Moving parts.** Two balances, of bytes and of operations, grow with time up to 100 ms of the share. A
 * request is admitted while both are above zero, and is charged as a whole. So a balance falls below zero by
 * at most one request, and no request is too large to be admitted. At its end, a request is refunded the
 * bytes it has not moved. Requests that have to wait are queued. The next one admitted is the first that a
 * caller waits for. This is checked at that moment, since a reader may have begun to wait for data that was
 * read ahead. Every eighth is the oldest one, so background requests never starve. One timer waits for the
 * balances.
 *
 * **Invariants.** In any period, the admitted requests amount to at most the share for that period, plus 100
 * ms of it, plus one request. No request waits while both balances are above zero. Without a bound, no
 * request waits.
 */
export class Pace {
  readonly #clock: Clock;
  readonly #waiting = new Chain<Waiting>();
  #rate: Rate = NO_BOUND;
  #balance = { bytes: 0, operations: 0 };
  #filledAt: number;
  #wait: AbortController | undefined;
  #released = 0;
  #counts = { bytes: 0, operations: 0, waitedMs: 0, requestMs: 0, ended: 0 };
  #waitsSince: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#filledAt = clock.now();
  }

  get rate(): Rate {
    return this.#rate;
  }

  get counts(): PaceCounts {
    const waits = this.#waitsSince === undefined ? 0 : this.#clock.now() - this.#waitsSince;
    return { ...this.#counts, waitedMs: this.#counts.waitedMs + waits };
  }

  /** Sets another rate. */
  set(rate: Rate): void {
    invariant(rate.bytes >= 0 && rate.operations >= 0, 'a share is a number');
    this.#fill();
    this.#rate = rate;
    this.#cap();
    this.#wait?.abort(ANOTHER_RATE);
    this.#release();
  }

  /**
   * Waits until a request may be made. Returns undefined instead of a promise if it may be made at once.
   * @param signal Aborts the wait.
   */
  admit(request: PacedRequest, signal?: AbortSignal): Promise<void> | undefined {
    if (this.#waiting.size === 0) {
      this.#fill();
      if (this.#mayGo) {
        this.#take(request);
        return undefined;
      }
    }
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      this.#waitsSince ??= this.#clock.now();
      const link = this.#waiting.add({
        ...request,
        go: () => {
          stopListening();
          resolve();
        },
      });
      const stopListening = onAbort(signal, (reason) => {
        this.#remove(link);
        reject(reason);
      });
      this.#arm();
    });
  }

  /**
   * Records the end of a request, and refunds the bytes it has not moved.
   * @param ms Milliseconds the request took after it was admitted.
   */
  ended({ bytes, operations }: PacedRequest, moved: number, ms: number): void {
    this.#counts.requestMs += ms;
    this.#counts.ended += operations;
    if (moved === bytes) return;
    this.#counts.bytes -= bytes - moved;
    this.#balance.bytes += bytes - moved;
    this.#release();
  }

  get #mayGo(): boolean {
    return this.#balance.bytes > 0 && this.#balance.operations > 0;
  }

  #take({ bytes, operations }: PacedRequest): void {
    this.#counts.bytes += bytes;
    this.#counts.operations += operations;
    this.#balance.bytes -= bytes;
    this.#balance.operations -= operations;
  }

  #fill(): void {
    const now = this.#clock.now();
    const seconds = (now - this.#filledAt) / 1000;
    this.#filledAt = now;
    // Infinity times zero is NaN.
    if (seconds > 0) {
      this.#balance.bytes += seconds * this.#rate.bytes;
      this.#balance.operations += seconds * this.#rate.operations;
    }
    this.#cap();
  }

  #cap(): void {
    const { bytes, operations } = this.#rate;
    const burst = BURST_MS / 1000;
    this.#balance.bytes = bytes === Infinity ? Infinity : Math.min(this.#balance.bytes, bytes * burst);
    this.#balance.operations =
      operations === Infinity
        ? Infinity
        : Math.min(this.#balance.operations, Math.max(1, operations * burst));
  }

  #release(): void {
    this.#fill();
    while (this.#mayGo && this.#waiting.size > 0) {
      const link = this.#next();
      if (link === undefined) break;
      this.#remove(link);
      this.#take(link.value);
      link.value.go();
    }
    this.#arm();
  }

  #next(): Link<Waiting> | undefined {
    const oldest = this.#waiting.first;
    this.#released += 1;
    if (this.#released % OLDEST_EACH === 0) return oldest;
    for (let link = oldest; link !== undefined; link = link.after)
      if (link.value.isWaitedFor?.() ?? true) return link;
    return oldest;
  }

  #remove(link: Link<Waiting>): void {
    this.#waiting.remove(link);
    if (this.#waiting.size > 0 || this.#waitsSince === undefined) return;
    this.#counts.waitedMs += this.#clock.now() - this.#waitsSince;
    this.#waitsSince = undefined;
    this.#wait?.abort(NOBODY_WAITS);
  }

  /** Sets the timer for the balances if requests wait. */
  #arm(): void {
    if (this.#wait !== undefined || this.#waiting.size === 0) return;
    const wait = new AbortController();
    this.#wait = wait;
    const over = (mayRelease: boolean) => {
      if (this.#wait === wait) this.#wait = undefined;
      if (mayRelease) this.#release();
      else this.#arm();
    };
    void this.#clock.sleep(this.#msToWait, wait.signal).then(
      () => over(true),
      () => over(false),
    );
  }

  get #msToWait(): number {
    const ms = (part: keyof Rate) => {
      if (this.#balance[part] > 0) return 0;
      return this.#rate[part] === 0 ? Infinity : (-this.#balance[part] / this.#rate[part]) * 1000;
    };
    return Math.max(1, ms('bytes'), ms('operations'));
  }
}

const ANOTHER_RATE = new Error('The share is another one now.');
const NOBODY_WAITS = new Error('Nobody waits for the share any more.');
