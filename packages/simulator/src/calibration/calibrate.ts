import {
  parseBytes,
  Random,
  systemClock,
  type ByteSize,
  type Clock,
  type HierarchyOptions,
  type ObjectStat,
  type StorageDriver,
} from '@tiered/core';
import { configError } from '@tiered/core/internal';
import type { ThroughputCurve } from '../curve.js';
import type { CalibrationProfile } from './profile.js';
import { rateOf, type Budget } from './rate.js';

/** Options of `calibrate`. */
export interface CalibrationOptions {
  /** Seconds for everything. Default: 20: two for each concurrency of a source and a tier. */
  readonly seconds?: number;
  /** Bytes that are read and written, in all. Default: 2 GiB. */
  readonly bytes?: ByteSize;
  /** Operations at a time, rising. Default: 1, 2, 4, 8, 16, 32. */
  readonly concurrencies?: readonly number[];
  /** Trains on a sample: gives c, the compute throughput. Default: it is not measured. */
  readonly compute?: (sample: Uint8Array) => void | Promise<void>;
  /** Preprocesses a sample: gives beta. Default: it is not measured. */
  readonly preprocess?: (sample: Uint8Array) => void | Promise<void>;
  /** Decides which objects are read. Default: 0. */
  readonly seed?: number;
  /** Called after every measurement. */
  readonly onProgress?: (done: number, total: number) => void;
  readonly signal?: AbortSignal;
  /** Default: the clock of the machine. */
  readonly clock?: Clock;
}

const CONCURRENCIES = [1, 2, 4, 8, 16, 32];
/** Of so many objects at most some are read: a listing of millions would take the time for everything. */
const KEYS_LISTED = 10_000;
/** Where objects for measuring live on a tier, until it has been measured. */
const PREFIX = 'tiered-calibration/';
/** Objects on a tier at most, and the part of its quota that they may take. */
const OBJECTS_ON_TIER = 256;
const PART_OF_QUOTA = 0.5;

type Operation = (index: number) => Promise<number>;

/** One measurement, of which there are as many as concurrencies. */
interface Series {
  readonly operation: Operation;
  readonly concurrencies: readonly number[];
}

/**
 * Measures what the performance model wants to know of storage (Table A.1): t(gamma) of the source, r_j(p) and w_j(p) of
 * the tiers, each by whole objects as the source has them, at rising concurrency; c and beta from functions that are given.
 *
 * Takes what `Hierarchy` takes, before it is started or in its place: it opens the drivers, writes objects under
 * `tiered-calibration/` to the tiers, up to half of their quota, deletes them again, and closes the drivers, also when it
 * fails or is aborted. The source is only read. Time and bytes keep to their budgets, but for two rounds of each measurement.
 *
 * What was read a moment ago is in the caches of the operating system: if the dataset is larger than memory and the
 * training's reads are not, give it a dataset of objects that nobody has read.
 * @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work, and a source without objects; and what drivers throw.
 * @throws The signal's reason.
 */
export async function calibrate(
  { source, tiers = [] }: Pick<HierarchyOptions, 'source' | 'tiers'>,
  options: CalibrationOptions = {},
): Promise<CalibrationProfile> {
  const { seconds = 20, concurrencies = CONCURRENCIES, clock = systemClock, signal, onProgress } = options;
  const bytes = parseBytes(options.bytes ?? '2GiB', 'bytes');
  assertOptions(seconds, concurrencies);
  const extras = [options.compute, options.preprocess].filter((given) => given !== undefined).length;
  const total = concurrencies.length * (1 + 2 * tiers.length) + extras;
  const budget: Budget = { ms: (1000 * seconds) / total, bytes: bytes / total };
  let done = 0;
  const measure = async (operation: Operation, concurrency: number): Promise<number> => {
    const guarded = (index: number) => {
      signal?.throwIfAborted();
      return operation(index);
    };
    const rate = await rateOf(guarded, concurrency, budget, clock);
    onProgress?.(++done, total);
    return rate;
  };
  const curveOf = async ({ operation, concurrencies: many }: Series): Promise<ThroughputCurve> => {
    const points: [number, number][] = [];
    for (const concurrency of many) points.push([concurrency, await measure(operation, concurrency)]);
    return { points };
  };

  return opened(source, signal, async () => {
    const objects = await someObjects(source, options.seed ?? 0, signal);
    const objectBytes = objects.reduce((sum, { size }) => sum + size, 0) / objects.length;
    const readWhole = (index: number) => {
      const { key = '', size = 0 } = objects[index % objects.length] ?? {};
      return source.read(key, { offset: 0, length: size, signal });
    };
    const read = await curveOf({
      operation: async (index) => (await readWhole(index)).byteLength,
      concurrencies,
    });
    const sample = await readWhole(0);
    const profiles: CalibrationProfile['tiers'] = [];
    for (const { driver, quota } of tiers) {
      const capacity = PART_OF_QUOTA * parseBytes(quota, 'quota');
      profiles.push(await tierOf(driver, capacity, { sample, concurrencies, curveOf, signal }));
    }
    const rate = (work: ((sample: Uint8Array) => void | Promise<void>) | undefined) =>
      work &&
      measure(async () => {
        await work(sample);
        return sample.byteLength;
      }, 1);
    const computeMBps = await rate(options.compute);
    const preprocessMBps = await rate(options.preprocess);
    return {
      version: 1,
      objectBytes,
      source: { name: source.name, read: mutable(read) },
      tiers: profiles,
      ...(computeMBps !== undefined && { computeMBps }),
      ...(preprocessMBps !== undefined && { preprocessMBps }),
    };
  });
}

/** w_j(p), then r_j(p) of what was written. */
async function tierOf(
  driver: StorageDriver,
  capacity: number,
  {
    sample,
    concurrencies,
    curveOf,
    signal,
  }: {
    readonly sample: Uint8Array;
    readonly concurrencies: readonly number[];
    readonly curveOf: (series: Series) => Promise<ThroughputCurve>;
    readonly signal: AbortSignal | undefined;
  },
): Promise<CalibrationProfile['tiers'][number]> {
  const size = sample.byteLength;
  const objects = Math.min(OBJECTS_ON_TIER, Math.floor(capacity / size));
  if (objects < 1) throw configError('quota', `twice an object of ${size} bytes at least`, capacity * 2);
  // Two writers of one key would wait for each other, or count as one.
  const most = concurrencies.filter((concurrency) => concurrency <= objects);
  const written = new Set<string>();
  const keyOf = (index: number) => `${PREFIX}${index % objects}`;
  return opened(driver, signal, async () => {
    try {
      const write = await curveOf({
        concurrencies: most,
        operation: async (index) => {
          written.add(keyOf(index));
          await driver.write(keyOf(index), sample, { size, signal });
          return size;
        },
      });
      const keys = [...written];
      const read = await curveOf({
        concurrencies,
        operation: async (index) =>
          (await driver.read(keys[index % keys.length] ?? '', { offset: 0, length: size, signal })).byteLength,
      });
      return { name: driver.name, read: mutable(read), write: mutable(write) };
    } finally {
      // Without the signal: what was written is deleted whatever happened.
      await Promise.allSettled([...written].map((key) => driver.delete(key, {})));
    }
  });
}

async function opened<T>(
  driver: StorageDriver,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  await driver.open({ signal });
  try {
    return await work();
  } finally {
    await driver.close();
  }
}

/** Objects of the source that are not empty, in an order of the seed. */
async function someObjects(
  source: StorageDriver,
  seed: number,
  signal: AbortSignal | undefined,
): Promise<ObjectStat[]> {
  const objects: ObjectStat[] = [];
  for await (const page of source.list({ signal })) {
    objects.push(...page.filter(({ size }) => size > 0));
    if (objects.length >= KEYS_LISTED) break;
  }
  if (objects.length === 0) throw configError('source', 'objects that are not empty', source.name);
  return Array.from(new Random(seed).permutation(objects.length), (i) => objects[i]).filter(
    (object) => object !== undefined,
  );
}

function mutable({ points }: ThroughputCurve): { points: [number, number][] } {
  return { points: points.map(([at, rate]) => [at, rate]) };
}

function assertOptions(seconds: number, concurrencies: readonly number[]): void {
  if (!(seconds > 0 && seconds < Infinity)) throw configError('seconds', 'a number above 0', seconds);
  let last = 0;
  for (const concurrency of concurrencies) {
    if (!Number.isSafeInteger(concurrency) || concurrency <= last)
      throw configError('concurrencies', 'whole numbers of at least 1, rising', concurrency);
    last = concurrency;
  }
  if (last === 0) throw configError('concurrencies', 'at least one', undefined);
}
