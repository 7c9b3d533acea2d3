import {
  parseBytes,
  systemClock,
  type ByteSize,
  type Clock,
  type Hierarchy,
  type HierarchyOptions,
  type ObjectStat,
  type StorageDriver,
  type TierOptions,
} from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { readers } from './loader.js';
import { firstThatFit, objectsOfPeer, someObjects } from './objects.js';
import type { CalibrationProfile, PlaceProfile } from './profile.js';
import { rateOf, Repeats, REPEATS, type Budget, type Lane } from './rate.js';
import { PREFIX, withTrial } from './trial.js';

/** Options of `calibrate`. */
export interface CalibrationOptions {
  /**
   * Seconds for all measurements together. Default: 30. With a source and a tier, that is 0.4 for each of the
   * three measurements of a point.
   */
  readonly seconds?: number;
  /** Bytes to read and write in total. Default: 2 GiB. */
  readonly bytes?: ByteSize;
  /** Operations at a time, in rising order. Default: 1, 2, 4, 8, 16, 32. */
  readonly concurrencies?: readonly number[];
  /**
   * Bytes of one read, as the loader requests them; an object is read piece by piece. Default: whole objects.
   */
  readonly readBytes?: ByteSize;
  /**
   * Another worker of the same training, to read objects of the source from: its speed is b_c. Opened and
   * closed by `calibrate`. Default: b_c is not measured.
   */
  readonly peers?: StorageDriver;
  /** Trains on a sample. Its speed is c, the compute throughput. Default: c is not measured. */
  readonly compute?: (sample: Uint8Array) => void | Promise<void>;
  /** Preprocesses a sample. Its speed is beta. Default: beta is not measured. */
  readonly preprocess?: (sample: Uint8Array) => void | Promise<void>;
  /** Determines the objects that are read. Default: 0. */
  readonly seed?: number;
  /** Called after every measurement. */
  readonly onProgress?: (done: number, total: number) => void;
  readonly signal?: AbortSignal;
  /** Default: the system clock. */
  readonly clock?: Clock;
}

const CONCURRENCIES = [1, 2, 4, 8, 16, 32];
/** Most objects on a tier during the measurement of writes, and the part of its quota that they may take. */
const OBJECTS_ON_TIER = 256;
const PART_OF_QUOTA = 0.5;

/**
 * Measures the storage figures of the performance model (Table A.1) at rising concurrency: t(gamma) of the
 * source, r_j(p) and w_j(p) of the tiers, and the throughput of reads from the source that fill a tier. It
 * reads through a hierarchy with one tier and the defaults of `PlacementHandler`, as a training does; w_j is
 * measured with the driver alone. c and beta are measured with the given functions, and b_c with another
 * worker.
 *
 * Each point is measured three times. The profile has the median, and how far the three were apart;
 * `unsteadyIn` lists the curves not to trust.
 *
 * Takes the options of a `Hierarchy`, before one is started or in place of one. Opens the drivers, writes
 * objects under `tiered-calibration/` to the tiers, up to half of their quota, deletes them again, and closes
 * the drivers, even when it fails or is aborted. The source is only read. Time and bytes stay within their
 * budgets, except that each measurement makes at least two rounds.
 *
 * Recently read bytes are in the caches of the operating system. If the dataset is larger than memory, and
 * the training's reads do not hit those caches, use a dataset of objects that have not been read.
 * @throws TieredError `TIERED_CONFIG_INVALID` for invalid options, and for a source without objects. Errors
 * of drivers are thrown as they are.
 * @throws The signal's reason.
 */
export async function calibrate(
  { source, tiers = [] }: Pick<HierarchyOptions, 'source' | 'tiers'>,
  options: CalibrationOptions = {},
): Promise<CalibrationProfile> {
  return new Calibration(source, tiers, options).run();
}

type Work = (sample: Uint8Array) => void | Promise<void>;

class Calibration {
  readonly #source: StorageDriver;
  readonly #tiers: readonly TierOptions[];
  readonly #options: CalibrationOptions;
  readonly #concurrencies: readonly number[];
  readonly #readBytes: number | undefined;
  readonly #clock: Clock;
  readonly #signal: AbortSignal | undefined;
  readonly #measurements: number;
  readonly #budget: Budget;
  #done = 0;

  constructor(source: StorageDriver, tiers: readonly TierOptions[], options: CalibrationOptions) {
    const { seconds = 30, concurrencies = CONCURRENCIES, clock = systemClock } = options;
    const { compute, preprocess, peers } = options;
    const bytes = parseBytes(options.bytes ?? '2GiB', 'bytes');
    assertOptions(seconds, concurrencies);
    this.#source = source;
    this.#tiers = tiers;
    this.#options = options;
    this.#concurrencies = concurrencies;
    this.#readBytes =
      options.readBytes === undefined ? undefined : parseBytes(options.readBytes, 'readBytes');
    this.#clock = clock;
    this.#signal = options.signal;
    const extras = [compute, preprocess].filter((given) => given !== undefined).length;
    const places = 1 + 3 * tiers.length + (peers === undefined ? 0 : 1);
    this.#measurements = REPEATS * concurrencies.length * places + extras;
    this.#budget = { ms: (1000 * seconds) / this.#measurements, bytes: bytes / this.#measurements };
  }

  run(): Promise<CalibrationProfile> {
    return this.#opened(this.#source, async () => {
      const { compute, preprocess, peers, seed = 0 } = this.#options;
      const objects = await someObjects(this.#source, seed, this.#signal);
      const read = await this.#readPlace(this.#source, objects);
      const ofPeers = peers && (await this.#peers(peers, objects));
      const tiers: CalibrationProfile['tiers'] = [];
      for (const tier of this.#tiers) tiers.push(await this.#tier(tier, objects));
      const sample = await this.#sample(objects);
      const computeMBps = compute && (await this.#rateOfWork(compute, sample));
      const preprocessMBps = preprocess && (await this.#rateOfWork(preprocess, sample));
      return {
        version: 1,
        objectBytes: objects.reduce((sum, { size }) => sum + size, 0) / objects.length,
        source: { name: this.#source.name, read: read.curve, spread: { read: read.spread } },
        tiers,
        ...(ofPeers && { peers: ofPeers }),
        ...(computeMBps !== undefined && { computeMBps }),
        ...(preprocessMBps !== undefined && { preprocessMBps }),
      };
    });
  }

  /** Returns the first of some objects. */
  #sample([first]: readonly ObjectStat[]): Promise<Uint8Array> {
    const { key = '', size = 0 } = first ?? {};
    return this.#source.read(key, { offset: 0, length: size, signal: this.#signal });
  }

  /** t(gamma), and b_c. */
  #readPlace(source: StorageDriver, objects: readonly ObjectStat[]): Promise<Repeats> {
    const [clock, signal] = [this.#clock, this.#signal];
    return withTrial({ source, objects, clock, signal }, (hierarchy) =>
      this.#repeated((concurrency) => this.#rate(this.#readers(hierarchy, objects, false, concurrency))),
    );
  }

  /** b_c, with objects that the peer serves, and then keeps. */
  #peers(peers: StorageDriver, objects: readonly ObjectStat[]): Promise<PlaceProfile> {
    return this.#opened(peers, async () => {
      const given = await objectsOfPeer(peers, objects, this.#budget.bytes, this.#signal);
      if (given.length === 0)
        throw configError('peers', 'a worker that keeps objects of this source', peers.name);
      const { curve, spread } = await this.#readPlace(peers, given);
      return { name: peers.name, read: curve, spread: { read: spread } };
    });
  }

  async #tier({ driver, quota }: TierOptions, objects: readonly ObjectStat[]): Promise<PlaceProfile> {
    const capacity = Math.floor(PART_OF_QUOTA * parseBytes(quota, 'quota'));
    const fitting = firstThatFit(objects, capacity);
    if (fitting.length === 0) throw configError('quota', 'twice an object of the source at least', quota);
    const sample = await this.#sample(fitting);
    return this.#opened(driver, async () => {
      const write = await this.#writeTier(driver, sample, Math.floor(capacity / sample.byteLength));
      const read = new Repeats();
      const place = await this.#repeated(async (concurrency) => {
        const rates = await this.#fillAndRead({ driver, quota }, fitting, concurrency);
        read.add(concurrency, rates.read);
        return rates.place;
      });
      return {
        name: driver.name,
        read: read.curve,
        write: write.curve,
        place: place.curve,
        spread: { read: read.spread, write: write.spread, place: place.spread },
      };
    });
  }

  /** w_j(p). */
  async #writeTier(driver: StorageDriver, sample: Uint8Array, room: number): Promise<Repeats> {
    const size = sample.byteLength;
    const signal = this.#signal;
    const objects = Math.min(OBJECTS_ON_TIER, room);
    const written = new Set<string>();
    let begun = 0;
    const next = async () => {
      signal?.throwIfAborted();
      const key = `${PREFIX}${begun++ % objects}`;
      written.add(key);
      await driver.write(key, sample, { size, signal });
      return size;
    };
    try {
      return await this.#repeated((concurrency) =>
        this.#rate(Array.from({ length: concurrency }, () => ({ next }))),
      );
    } finally {
      // Without the signal, because written objects are deleted in any case.
      await Promise.allSettled([...written].map((key) => driver.delete(key, {})));
    }
  }

  /** Measures a first epoch, and then r_j(p) with the objects that it has placed. */
  #fillAndRead(
    tier: TierOptions,
    objects: readonly ObjectStat[],
    concurrency: number,
  ): Promise<{ readonly place: number; readonly read: number }> {
    const [clock, signal] = [this.#clock, this.#signal];
    return withTrial({ source: this.#source, objects, tier, clock, signal }, async (hierarchy) => {
      const place = await this.#rate(this.#readers(hierarchy, objects, true, concurrency));
      await hierarchy.idle({ signal });
      const placed: ObjectStat[] = [];
      for (const object of objects) {
        const { level } = await hierarchy.stat(object.key);
        if (level === 0) placed.push(object);
      }
      return { place, read: await this.#rate(this.#readers(hierarchy, placed, false, concurrency)) };
    });
  }

  #readers(
    hierarchy: Hierarchy,
    objects: readonly ObjectStat[],
    once: boolean,
    concurrency: number,
  ): readonly Lane[] {
    const [readBytes, signal] = [this.#readBytes, this.#signal];
    return readers({ hierarchy, objects, readBytes, once, signal }, concurrency);
  }

  async #repeated(rateAt: (concurrency: number) => Promise<number>): Promise<Repeats> {
    const repeats = new Repeats();
    for (let round = 0; round < REPEATS; round++)
      for (const concurrency of this.#concurrencies) repeats.add(concurrency, await rateAt(concurrency));
    return repeats;
  }

  #rateOfWork(work: Work, sample: Uint8Array): Promise<number> {
    const next = async () => {
      this.#signal?.throwIfAborted();
      await work(sample);
      return sample.byteLength;
    };
    return this.#rate([{ next }]);
  }

  async #rate(lanes: readonly Lane[]): Promise<number> {
    const rate = await rateOf(lanes, this.#budget, this.#clock);
    this.#options.onProgress?.(++this.#done, this.#measurements);
    return rate;
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
