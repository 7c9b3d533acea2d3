import {
  parseBytes,
  Random,
  systemClock,
  type ByteSize,
  type Clock,
  type HierarchyOptions,
  type ObjectStat,
  type StorageDriver,
  type TierOptions,
} from '@tiered/core';
import { configError } from '@tiered/core/internal';
import type { CalibrationProfile, PlaceProfile } from './profile.js';
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
  return new Calibration(source, tiers, options).run();
}

type Operation = (index: number) => Promise<number>;
type Work = (sample: Uint8Array) => void | Promise<void>;

class Calibration {
  readonly #source: StorageDriver;
  readonly #tiers: readonly TierOptions[];
  readonly #options: CalibrationOptions;
  readonly #concurrencies: readonly number[];
  readonly #clock: Clock;
  readonly #signal: AbortSignal | undefined;
  readonly #measurements: number;
  readonly #budget: Budget;
  #done = 0;

  constructor(source: StorageDriver, tiers: readonly TierOptions[], options: CalibrationOptions) {
    const { seconds = 20, concurrencies = CONCURRENCIES, clock = systemClock, compute, preprocess } = options;
    const bytes = parseBytes(options.bytes ?? '2GiB', 'bytes');
    assertOptions(seconds, concurrencies);
    this.#source = source;
    this.#tiers = tiers;
    this.#options = options;
    this.#concurrencies = concurrencies;
    this.#clock = clock;
    this.#signal = options.signal;
    const extras = [compute, preprocess].filter((given) => given !== undefined).length;
    this.#measurements = concurrencies.length * (1 + 2 * tiers.length) + extras;
    this.#budget = { ms: (1000 * seconds) / this.#measurements, bytes: bytes / this.#measurements };
  }

  run(): Promise<CalibrationProfile> {
    return this.#opened(this.#source, async () => {
      const { compute, preprocess, seed = 0 } = this.#options;
      const objects = await this.#someObjects(seed);
      const readOne = (index: number) => {
        const { key = '', size = 0 } = objects[index % objects.length] ?? {};
        return this.#source.read(key, { offset: 0, length: size, signal: this.#signal });
      };
      const read = await this.#curve(async (index) => (await readOne(index)).byteLength);
      const sample = await readOne(0);
      const tiers: CalibrationProfile['tiers'] = [];
      for (const tier of this.#tiers) tiers.push(await this.#tier(tier, sample));
      const computeMBps = compute && (await this.#rateOfWork(compute, sample));
      const preprocessMBps = preprocess && (await this.#rateOfWork(preprocess, sample));
      return {
        version: 1,
        objectBytes: objects.reduce((sum, { size }) => sum + size, 0) / objects.length,
        source: { name: this.#source.name, read },
        tiers,
        ...(computeMBps !== undefined && { computeMBps }),
        ...(preprocessMBps !== undefined && { preprocessMBps }),
      };
    });
  }

  /** w_j(p), then r_j(p) of what was written. */
  #tier({ driver, quota }: TierOptions, sample: Uint8Array): Promise<PlaceProfile> {
    const size = sample.byteLength;
    const capacity = PART_OF_QUOTA * parseBytes(quota, 'quota');
    const objects = Math.min(OBJECTS_ON_TIER, Math.floor(capacity / size));
    if (objects < 1) throw configError('quota', `twice an object of ${size} bytes at least`, quota);
    const keyOf = (index: number) => `${PREFIX}${index % objects}`;
    const signal = this.#signal;
    const written = new Set<string>();
    const writeOne = async (index: number) => {
      written.add(keyOf(index));
      await driver.write(keyOf(index), sample, { size, signal });
      return size;
    };
    return this.#opened(driver, async () => {
      try {
        const write = await this.#curve(writeOne);
        const keys = [...written];
        const readOne = async (index: number) => {
          const key = keys[index % keys.length] ?? '';
          return (await driver.read(key, { offset: 0, length: size, signal })).byteLength;
        };
        return { name: driver.name, read: await this.#curve(readOne), write };
      } finally {
        // Without the signal: what was written is deleted whatever happened.
        await Promise.allSettled([...written].map((key) => driver.delete(key, {})));
      }
    });
  }

  async #curve(operation: Operation): Promise<{ points: [number, number][] }> {
    const points: [number, number][] = [];
    for (const concurrency of this.#concurrencies)
      points.push([concurrency, await this.#rate(operation, concurrency)]);
    return { points };
  }

  #rateOfWork(work: Work, sample: Uint8Array): Promise<number> {
    return this.#rate(async () => {
      await work(sample);
      return sample.byteLength;
    }, 1);
  }

  async #rate(operation: Operation, concurrency: number): Promise<number> {
    const unlessAborted = (index: number) => {
      this.#signal?.throwIfAborted();
      return operation(index);
    };
    const rate = await rateOf(unlessAborted, concurrency, this.#budget, this.#clock);
    this.#options.onProgress?.(++this.#done, this.#measurements);
    return rate;
  }

  /** Objects of the source that are not empty, in an order of the seed. */
  async #someObjects(seed: number): Promise<ObjectStat[]> {
    const objects: ObjectStat[] = [];
    for await (const page of this.#source.list({ signal: this.#signal })) {
      objects.push(...page.filter(({ size }) => size > 0));
      if (objects.length >= KEYS_LISTED) break;
    }
    if (objects.length === 0) throw configError('source', 'objects that are not empty', this.#source.name);
    return Array.from(new Random(seed).permutation(objects.length)).flatMap((i) => objects[i] ?? []);
  }

  async #opened<T>(driver: StorageDriver, work: () => Promise<T>): Promise<T> {
    await driver.open({ signal: this.#signal });
    try {
      return await work();
    } finally {
      await driver.close();
    }
  }
}

function assertOptions(seconds: number, concurrencies: readonly number[]): void {
  if (!(seconds > 0 && seconds < Infinity)) throw configError('seconds', 'a number above 0', seconds);
  if (concurrencies.length === 0) throw configError('concurrencies', 'at least one', undefined);
  for (const [i, concurrency] of concurrencies.entries()) {
    if (!Number.isSafeInteger(concurrency) || concurrency <= (concurrencies[i - 1] ?? 0))
      throw configError('concurrencies', 'whole numbers of at least 1, rising', concurrency);
  }
}
