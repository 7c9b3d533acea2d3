import { Random, systemClock, type StorageDriver } from '@tiered/core';
import { HedgeDriver, ThrottleDriver } from '@tiered/core/decorators';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { SlowMount } from '../../tools/fuse/slow-mount.js';

/** Storage of a kind, over files in the page cache. */
export interface Source {
  readonly name: string;
  readonly open: (directory: string) => StorageDriver;
  /** Whether its directory may be read by anybody, and not only through the driver. Default: no. */
  readonly isDirectory?: boolean;
  /**
   * Seconds in which nobody can read so many objects of so many bytes from it, with `concurrency` requests at
   * a time.
   */
  readonly bound?: (objects: number, bytes: number, concurrency: number) => number;
}

const LATENCY_MS = 5;
const BYTES_PER_SECOND = 150e6;

export const warmDisk: Source = {
  name: 'warm disk',
  isDirectory: true,
  open: (directory) => new FileSystemDriver({ root: directory }),
};

export const throttled: Source = throttledBy('5 ms, 150 MB/s', LATENCY_MS);

/** The source of SYSTEMS.md section 5, from which PRISMA's original takes 25.8 s for three epochs. */
export const nearby: Source = throttledBy('1 ms, 150 MB/s', 1);

/** A file system whose calls block, where the directory of a dataset is the mount of `mountBlocking`. */
export const blocking: Source = { ...warmDisk, name: 'FUSE, 5 ms an open, 5 ms a read' };

/** Shows a directory as `blocking` has it. Closed by the caller. */
export function mountBlocking(directory: string): Promise<SlowMount> {
  return SlowMount.start(directory, { openMs: LATENCY_MS, readMs: LATENCY_MS });
}

/** A latency whose 99th percentile is ten times its median, and no cap. */
export const jittered: Source = {
  name: 'jitter, median 2 ms, p99 20 ms',
  open: (directory) => new JitterDriver(new FileSystemDriver({ root: directory }), 2, 10),
};

/** The same with hedged reads. */
export const jitteredAndHedged: Source = {
  name: `${jittered.name}, hedged`,
  open: (directory) => new HedgeDriver(jittered.open(directory)),
};

function throttledBy(name: string, latencyMs: number): Source {
  return {
    name,
    open: (directory) =>
      new ThrottleDriver(new FileSystemDriver({ root: directory }), {
        latencyMs,
        bytesPerSecond: BYTES_PER_SECOND,
      }),
    bound: (objects, bytes, concurrency) =>
      Math.max(bytes / BYTES_PER_SECOND, (objects * latencyMs) / 1000 / concurrency),
  };
}

/** The normal quantile of 0.99: what a log-normal latency's spread follows from. */
const QUANTILE_99 = 2.326;
const SEED = 11;

/** Makes every read wait for a log-normal time, the same sequence of times in every run. */
class JitterDriver extends InterceptingDriver {
  readonly #medianMs: number;
  readonly #spread: number;
  readonly #random = new Random(SEED);

  constructor(inner: StorageDriver, medianMs: number, p99OverMedian: number) {
    super(inner);
    this.#medianMs = medianMs;
    this.#spread = Math.log(p99OverMedian) / QUANTILE_99;
  }

  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    if (call.operation === 'read' || call.operation === 'readInto') {
      await systemClock.sleep(this.#medianMs * Math.exp(this.#spread * this.#normal()), call.signal);
    }
    return call.proceed();
  }

  /** Box and Muller's method. */
  #normal(): number {
    const uniform = () => (this.#random.below(2 ** 30) + 1) / 2 ** 30;
    return Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  }
}
