import pLimit, { type LimitFunction } from 'p-limit';
import type { StorageDriver } from '../driver/driver.js';
import { assertCounts } from '../support/errors.js';
import { limited } from '../support/promises.js';
import { InterceptingDriver, type DriverCall } from './intercepting-driver.js';

/** Options of `LimitDriver`. */
export interface LimitDriverOptions {
  /**
   * The most operations in flight at the same time, at least 1. No default, because it is the point of the
   * decorator.
   */
  readonly concurrency: number;
}

/**
 * Bounds how many operations reach the driver at the same time; the others queue in order of arrival. An
 * operation that is aborted in the queue leaves at once and never reaches the driver.
 *
 * **Order.** Put it inside a `RetryDriver`. Around it, the pauses between tries would hold a slot that others
 * could use.
 */
export class LimitDriver extends InterceptingDriver {
  readonly #limit: LimitFunction;

  /** @throws TieredError `TIERED_CONFIG_INVALID` unless the concurrency is a whole number of at least 1. */
  constructor(inner: StorageDriver, { concurrency }: LimitDriverOptions) {
    super(inner);
    this.#limit = limiter(concurrency);
  }

  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    return limited(this.#limit, call.signal, () => call.proceed());
  }
}

/** Makes a p-limit after validating its bound. */
export function limiter(concurrency: number): LimitFunction {
  assertCounts({ concurrency });
  return pLimit(concurrency);
}
