import { parseBytes, type ByteSize } from '../support/bytes.js';
import { systemClock, type Clock } from '../support/clock.js';
import type { ReadIntoOptions, ReadOptions, StorageDriver } from '../driver/driver.js';
import { configError } from '../support/errors.js';
import { Allowance, type HedgeCounts } from './hedging/allowance.js';
import { HedgedRead, type HedgeableRead, type HedgeHost } from './hedging/hedged-read.js';
import { LateWatch } from './hedging/late-watch.js';
import { Latencies } from './hedging/latencies.js';
import { InterceptingDriver, type DriverCall } from './intercepting-driver.js';

/** Options of `HedgeDriver`. */
export interface HedgeDriverOptions {
  /**
   * The most second requests, as a share of the reads: more than 0, and at most 1. Default: 0.05, the share
   * of reads that the default percentile makes late. It adds a twentieth to the load of the source.
   */
  readonly budget?: number | undefined;
  /**
   * The share of the reads of like size that are not late, from 0.5 to 0.999. Default: 0.95, as in "The Tail
   * at Scale". With less, the budget is spent on reads that are nearly done. With more, most of the wait is
   * over before a hedge begins.
   */
  readonly percentile?: number | undefined;
  /**
   * Milliseconds before which no read is late. Default: 1, because timers are no finer. Faster reads are
   * never hedged.
   */
  readonly minDelayMs?: number | undefined;
  /**
   * Bytes that second requests may bring at a time. A larger single request is never made. Default: 64 MiB,
   * four large chunks.
   */
  readonly memory?: ByteSize | undefined;
  /** Default: the machine's clock. */
  readonly clock?: Clock | undefined;
}

/** The activity of a `HedgeDriver` since it was made. */
export interface HedgeMetrics extends HedgeCounts {
  /** Reads that ended, failed ones included. */
  readonly reads: number;
  /** Whether hedging is off: there are no hedges, or single ones that probe whether they help again. */
  readonly isOff: boolean;
}

/**
 * Hedges reads: a `read` or `readInto` that takes longer than nearly all recent reads of its size gets a
 * second request beside the first. The first answer wins, and the other request is aborted. This helps
 * against jitter, when now and then a read takes ten times as long as others ("The Tail at Scale", Dean and
 * Barroso, 2013). It does not help a source that is slow because it is busy. So hedging is turned off when 16
 * hedges in a row brought nothing, for a second at first and for up to a minute later, until a hedge wins
 * again.
 *
 * The whole result comes from one of the two requests. Their bytes are never mixed, even if the object
 * changes meanwhile and no version was requested. The second request reads into memory of its own, which is
 * copied to the caller's memory once the first request has released it. So a `readInto` waits until the
 * aborted first request has ended; a `read` does not. Bytes that were reported as `progress` stay: a second
 * answer that differs from them is not used. An error of the second request is not reported. An error of the
 * first is reported, unless it is `retryable` while a second request is in flight. The second request then
 * decides. An abort ends both, and the read settles as the first request does.
 *
 * There are no hedges until 2 / (1 - percentile) reads of like size (within a power of two) have ended, and
 * at most 16 at a time. `stat` is not hedged, because a listing makes it rare, and hedging it would use up
 * the budget of reads. Batches are made as single reads. `close` waits for aborted requests.
 *
 * **Order.** Put it inside `RetryDriver` and `LimitDriver`. Around them, it would mistake their pauses and
 * queues for a slow source, and a second request would wait behind the first. So the limit counts a read and
 * its hedge as one. Put it around `ThrottleDriver` and `FaultDriver`. A `MetricsDriver` inside counts both
 * requests. Do not put it around the driver of a tier: a tier has `readDeadlineMs`, and would lose the
 * threads of its batches.
 *
 * Costs an abort signal and an entry in a window per read, some 30 us of the event loop's thread. Do not use
 * it for sources that answer as fast as a disk.
 */
export class HedgeDriver extends InterceptingDriver {
  readonly #minDelayMs: number;
  readonly #clock: Clock;
  readonly #latencies: Latencies;
  readonly #allowance: Allowance;
  readonly #host: HedgeHost;
  /** Requests that only `close` waits for. */
  readonly #ending = new Set<Promise<unknown>>();
  #reads = 0;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for numbers that cannot work. */
  constructor(inner: StorageDriver, options: HedgeDriverOptions = {}) {
    super(inner);
    const {
      budget = 0.05,
      percentile = 0.95,
      minDelayMs = 1,
      memory = '64MiB',
      clock = systemClock,
    } = options;
    if (!(budget > 0 && budget <= 1))
      throw configError('budget', 'a share of more than 0 and at most 1', budget);
    if (!(percentile >= 0.5 && percentile <= 0.999))
      throw configError('percentile', 'a share from 0.5 to 0.999', percentile);
    if (!(minDelayMs >= 0 && minDelayMs < Infinity))
      throw configError('minDelayMs', 'milliseconds of at least 0', minDelayMs);
    this.#minDelayMs = minDelayMs;
    this.#clock = clock;
    this.#latencies = new Latencies(percentile);
    this.#allowance = new Allowance(budget, parseBytes(memory, 'memory'), () => clock.now());
    const watch = new LateWatch(clock);
    this.#host = {
      clock,
      watch,
      allowance: this.#allowance,
      outlives: (requests) => this.#outlives(requests),
    };
  }

  /** Returns a snapshot of the driver's activity since it was made. */
  metrics(): HedgeMetrics {
    const { counts, isOff } = this.#allowance;
    return { reads: this.#reads, ...counts, isOff };
  }

  override read(key: string, options: ReadOptions): Promise<Uint8Array> {
    return this.#hedged({
      bytes: options.length,
      signal: options.signal,
      isIntoMemory: false,
      first: (signal) => this.inner.read(key, { ...options, signal }),
      second: (signal) => this.inner.read(key, { ...options, signal }),
      agrees: () => true,
      resultOf: (answer) => answer,
    });
  }

  override readInto(key: string, target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    const { offset, version, progress, isFixed } = options;
    let told = 0;
    const telling = (signal: AbortSignal | undefined): ReadIntoOptions['progress'] =>
      progress &&
      ((bytes) => {
        if (signal?.aborted === true) return;
        told = Math.max(told, bytes);
        progress(bytes);
      });
    return this.#hedged({
      bytes: target.byteLength,
      signal: options.signal,
      isIntoMemory: true,
      first: (signal) =>
        this.inner.readInto(key, target, { offset, version, isFixed, signal, progress: telling(signal) }),
      second: (signal) => this.inner.read(key, { offset, length: target.byteLength, version, signal }),
      agrees: (answer) => Buffer.compare(answer.subarray(0, told), target.subarray(0, told)) === 0,
      resultOf: (answer) => {
        target.set(answer);
        return answer.byteLength;
      },
    });
  }

  override async close(): Promise<void> {
    await Promise.all(this.#ending);
    await super.close();
  }

  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    return call.proceed();
  }

  async #hedged<T>(read: HedgeableRead<T>): Promise<T> {
    const percentile = this.#latencies.lateAfterMs(read.bytes);
    const lateAfterMs = percentile === undefined ? Infinity : Math.max(percentile, this.#minDelayMs);
    const first = (signal: AbortSignal | undefined) => this.#timed(read, lateAfterMs, signal);
    try {
      // The caller's own signal, if nothing else can abort the request.
      if (lateAfterMs === Infinity) return await first(read.signal);
      return await new HedgedRead({ ...read, first }, lateAfterMs, this.#host).run();
    } finally {
      this.#reads += 1;
      this.#allowance.earn();
    }
  }

  #outlives(requests: Promise<unknown>): void {
    this.#ending.add(requests);
    void requests.then(() => this.#ending.delete(requests));
  }

  /** Makes the first request of a read. Records its latency if it succeeds, or if it is known to be late. */
  async #timed<T>(read: HedgeableRead<T>, lateAfterMs: number, signal: AbortSignal | undefined): Promise<T> {
    const start = this.#clock.now();
    let hasSucceeded = false;
    try {
      const result = await read.first(signal);
      hasSucceeded = true;
      return result;
    } finally {
      const ms = this.#clock.now() - start;
      if (hasSucceeded || ms >= lateAfterMs) this.#latencies.add(read.bytes, ms);
    }
  }
}
