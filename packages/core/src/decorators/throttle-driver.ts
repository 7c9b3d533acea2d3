import pLimit, { type LimitFunction } from 'p-limit';
import { parseBytes, type ByteSize } from '../support/bytes.js';
import { systemClock, type Clock } from '../support/clock.js';
import type { StorageDriver } from '../driver/driver.js';
import { configError } from '../support/errors.js';
import { limited } from '../support/promises.js';
import { InterceptingDriver, type DriverCall } from './intercepting-driver.js';
import { limiter } from './limit-driver.js';

/** Options of `ThrottleDriver`. */
export interface ThrottleDriverOptions {
  /** Milliseconds that every operation waits before it begins. Operations wait concurrently. Default: 0. */
  readonly latencyMs?: number | undefined;
  /** Bytes per second that the reads and writes of all operations share. Default: no bound. */
  readonly bytesPerSecond?: ByteSize | undefined;
  /** Operations in flight at the same time; the others queue. Default: no bound. */
  readonly concurrency?: number | undefined;
  /** Default: the machine's clock. */
  readonly clock?: Clock | undefined;
}

/** Bytes between two calls of `progress`. */
const PROGRESS_STEP = 256 * 1024;

/**
 * Makes a fast driver behave like a slow and shared one: for demos, benches and what-if questions.
 *
 * An operation waits for a slot, then for `latencyMs`, and then does its work. Its bytes then pass over a
 * link of `bytesPerSecond`, one operation after the other. The link is booked by absolute times, so that a
 * late timer costs no throughput as long as another operation is in flight. Failed operations wait for the
 * latency too, but use no bandwidth. An operation that is aborted leaves the link at once.
 */
export class ThrottleDriver extends InterceptingDriver {
  readonly #latencyMs: number;
  readonly #msPerByte: number;
  readonly #limit: LimitFunction | undefined;
  readonly #clock: Clock;
  /** Passes the bytes of one operation at a time. */
  readonly #link = pLimit(1);
  #linkFreeAt = 0;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for numbers that cannot work. */
  constructor(inner: StorageDriver, options: ThrottleDriverOptions) {
    super(inner);
    const { latencyMs = 0, bytesPerSecond, concurrency, clock = systemClock } = options;
    if (!(latencyMs >= 0 && latencyMs < Infinity))
      throw configError('latencyMs', 'milliseconds of at least 0', latencyMs);
    const rate = bytesPerSecond === undefined ? Infinity : parseBytes(bytesPerSecond, 'bytesPerSecond');
    if (rate === 0) throw configError('bytesPerSecond', 'more than 0', bytesPerSecond);
    this.#latencyMs = latencyMs;
    this.#msPerByte = 1000 / rate;
    this.#limit = concurrency === undefined ? undefined : limiter(concurrency);
    this.#clock = clock;
  }

  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    const slowly = () => this.#slowly(call);
    return this.#limit === undefined ? slowly() : limited(this.#limit, call.signal, slowly);
  }

  async #slowly<T>(call: DriverCall<T>): Promise<T> {
    if (this.#latencyMs > 0) await this.#clock.sleep(this.#latencyMs, call.signal);
    // No progress is reported here, because the bytes have not yet passed the link.
    const result = await call.proceed(call.signal, () => undefined);
    const bytes = call.moved(result);
    if (this.#msPerByte > 0 && bytes > 0) {
      const transfer = this.#transfer(bytes, call);
      // The write is already published. An abort ends the wait, but must not report that nothing happened.
      await (call.operation === 'write' ? transfer.catch(() => undefined) : transfer);
    }
    return result;
  }

  #transfer<T>(bytes: number, call: DriverCall<T>): Promise<void> {
    const cameAt = this.#clock.now();
    return limited(this.#link, call.signal, async () => {
      const start = Math.max(this.#linkFreeAt, cameAt);
      this.#linkFreeAt = start + bytes * this.#msPerByte;
      try {
        await this.#pass(start, bytes, call);
      } catch (error) {
        this.#linkFreeAt = Math.max(start, this.#clock.now());
        throw error;
      }
    });
  }

  async #pass<T>(start: number, bytes: number, { signal, progress }: DriverCall<T>): Promise<void> {
    const step = progress === undefined ? bytes : PROGRESS_STEP;
    for (let passed = 0; passed < bytes;) {
      passed = Math.min(bytes, passed + step);
      const leftMs = start + passed * this.#msPerByte - this.#clock.now();
      // A timer takes at least a millisecond, so a link that is late continues without one.
      if (leftMs > 0) await this.#clock.sleep(leftMs, signal);
      if (passed < bytes) progress?.(passed);
    }
  }
}
