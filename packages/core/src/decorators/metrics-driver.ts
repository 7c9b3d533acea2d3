import { systemClock, type Clock } from '../support/clock.js';
import type { Operation, StorageDriver } from '../driver/driver.js';
import { InterceptingDriver, type DriverCall } from './intercepting-driver.js';

/** The activity of a driver, for one kind of operation. */
export interface OperationMetrics {
  /** Calls that ended, failed ones included. */
  readonly count: number;
  readonly errors: number;
  /** Bytes of objects that successful calls transferred. */
  readonly bytes: number;
  /** Sum and maximum of the calls' durations, in milliseconds. */
  readonly totalMs: number;
  readonly maxMs: number;
}

/** The activity of a driver: per operation, and how many operations are in flight. */
export interface DriverMetrics {
  readonly operations: Readonly<Partial<Record<Operation, OperationMetrics>>>;
  readonly active: number;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * Counts the operations that reach a driver. Put it inside a `RetryDriver` to see every try, outside to see
 * the caller's view. Costs two clock reads per operation.
 */
export class MetricsDriver extends InterceptingDriver {
  readonly #clock: Clock;
  readonly #operations = new Map<Operation, Mutable<OperationMetrics>>();
  #active = 0;

  constructor(inner: StorageDriver, { clock = systemClock }: { readonly clock?: Clock } = {}) {
    super(inner);
    this.#clock = clock;
  }

  /** Returns a snapshot of the driver's activity since it was made. */
  metrics(): DriverMetrics {
    const operations = Object.fromEntries(
      [...this.#operations].map(([name, metrics]) => [name, { ...metrics }]),
    );
    return { operations, active: this.#active };
  }

  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    const metrics = this.#metricsOf(call.operation);
    const start = this.#clock.now();
    this.#active += 1;
    try {
      const result = await call.proceed();
      metrics.bytes += call.moved(result);
      return result;
    } catch (error) {
      metrics.errors += 1;
      throw error;
    } finally {
      const ms = this.#clock.now() - start;
      this.#active -= 1;
      metrics.count += 1;
      metrics.totalMs += ms;
      metrics.maxMs = Math.max(metrics.maxMs, ms);
    }
  }

  #metricsOf(operation: Operation): Mutable<OperationMetrics> {
    let metrics = this.#operations.get(operation);
    if (metrics === undefined) {
      metrics = { count: 0, errors: 0, bytes: 0, totalMs: 0, maxMs: 0 };
      this.#operations.set(operation, metrics);
    }
    return metrics;
  }
}
