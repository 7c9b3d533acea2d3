import { loadConfig, type HierarchyConfig, type PrefetcherConfig } from '@tiered/config';
import {
  Hierarchy,
  parseBytes,
  type ByteSize,
  type Clock,
  type HierarchyOptions,
  type ObjectStat,
  type StorageDriver,
} from '@tiered/core';
import { calibrate, SomeObjects } from '@tiered/simulator/calibration';
import { levelsOf, partsOf, type ExaminedLevel } from '../configuration/levels.js';
import { readWritten, type Environment } from '../configuration/written.js';
import { Dataset } from '../dataset/dataset.js';
import type { Measuring } from './bounds.js';
import { readEpochs, shareOf } from './epochs.js';
import { bestOf, boundOfSource, boundOfTier, objectsOf, placeOf, someOf } from './places.js';
import type { BenchResult, EpochResult, PlaceResult } from './result.js';
import { twinsOf, type Twin, type Twins } from './twins.js';

/** Options of `bench`. */
export interface BenchOptions {
  /** Seconds for everything, more or less. */
  readonly seconds: number;
  /** Bytes that are read and written, in all. */
  readonly bytes: number;
  readonly clock: Clock;
  readonly env: Environment;
  readonly signal: AbortSignal;
  /** Told what part is done, 0 to 1. */
  readonly onProgress: (part: number) => void;
}

/** Parts of the time and of the bytes: for rising concurrency, for the bounds, and for each epoch at most. */
const PARTS = { calibration: 0.5, bounds: 0.2, epoch: 0.15 };
/** The part of its time that an epoch is planned to take. */
const PLANNED = 0.5;
/** The part of all bytes that each twin may hold, and the part of them that the epochs read. */
const PART_ON_TIER = 0.25;
const PART_IN_SAMPLE = 0.1;
/** A short epoch has this many milliseconds all the same: a machine that is busy must not cut it off. */
const LEAST_MS = 10_000;
const READS_AT_A_TIME = [1, 2, 4, 8, 16, 32];

/**
 * Measures what the source and the tiers of a configuration give, against what the machine gives without the
 * SDK, and two epochs through all of it. Tiers have twins beside them, which are gone at the end, also when
 * it fails or is aborted: nothing of the tiers themselves is read, written or counted.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a configuration that cannot work, and for a source without
 * objects. Errors of drivers are thrown as they are.
 * @throws The signal's reason.
 */
export async function bench(file: string, options: BenchOptions): Promise<BenchResult> {
  const { clock, env, bytes, signal } = options;
  const written = await readWritten(file, env);
  // A model is of the tiers themselves.
  const loading = { clock, env, model: false };
  const { hierarchy: own, prefetcher } = await loadConfig(file, loading);
  const [source, ...tiers] = levelsOf(own, written);
  if (source === undefined) throw new Error('a configuration has a source');
  const objects = await opened(own.source, signal, () => objectsOf(own.source, 0, signal));
  const smallest = objects.reduce((least, { size }) => Math.min(least, size), Infinity);
  const room = { most: PART_ON_TIER * bytes, least: Math.max(2 * smallest, chunkOf(written.expanded)) };
  const [, ...writtenTiers] = partsOf(written.value);
  await using twins = await twinsOf(tiers, writtenTiers, room);
  const config = configOf(written.value, twins);
  const { baseDirectory } = written;
  const { hierarchy: made } = await loadConfig(config, { ...loading, baseDirectory });
  const setup = { source, made, prefetcher, twins: twins.made, objects };
  return { ...(await measured(setup, options)), leftOut: twins.leftOut };
}

async function opened<T>(driver: StorageDriver, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  await driver.open({ signal });
  try {
    return await work();
  } finally {
    await driver.close();
  }
}

/** The chunk of a configuration that has one: no quota may be smaller. */
function chunkOf(configuration: unknown): number {
  const { placement } = configuration as HierarchyConfig;
  return parseBytes((placement?.['chunk'] as ByteSize | undefined) ?? 0);
}

/** What of a configuration concerns reading and placing, with the twins as its tiers. */
function configOf(value: unknown, { made, leftOut }: Twins): HierarchyConfig {
  const { source, placement = {}, versions } = value as HierarchyConfig;
  // A policy may name tiers by their numbers.
  const { policy, ...rest } = placement;
  return {
    source,
    tiers: made.map(({ fields }) => fields as NonNullable<HierarchyConfig['tiers']>[number]),
    ...(made.length > 0 && { placement: leftOut.length > 0 || policy === undefined ? rest : placement }),
    ...(versions !== undefined && { versions }),
  };
}

/** What is measured: the source, what reads it, and objects of it. */
interface Setup {
  readonly source: ExaminedLevel;
  readonly made: HierarchyOptions;
  readonly prefetcher: PrefetcherConfig;
  readonly twins: readonly Twin[];
  readonly objects: readonly ObjectStat[];
}

async function measured(setup: Setup, options: BenchOptions): Promise<Omit<BenchResult, 'leftOut'>> {
  const { seconds, bytes, clock, signal, onProgress } = options;
  const { source, made, prefetcher, twins, objects } = setup;
  const profile = await calibrate(made, {
    seconds: PARTS.calibration * seconds,
    bytes: PARTS.calibration * bytes,
    concurrencies: READS_AT_A_TIME,
    clock,
    signal,
    onProgress: (done, total) => onProgress((PARTS.calibration * done) / total),
  });
  const best = bestOf(profile.source);
  const planned = best.MBps * 1e6 * seconds * PARTS.epoch * PLANNED;
  const sample = someOf(objects, Math.min(planned, PART_IN_SAMPLE * bytes));
  const part = 1 / (1 + twins.length);
  const budget = { ms: 1000 * seconds * PARTS.bounds * part, bytes: bytes * PARTS.bounds * part };
  const measuring: Measuring = { clock, signal, budget };
  return opened(made.source, signal, async () => {
    const bound = await boundOfSource(source, made.source, sample, best.atATime, measuring);
    const places = [placeOf(source, profile.source, bound)];
    for (const [i, twin] of twins.entries()) {
      const found = profile.tiers[i];
      if (found !== undefined)
        places.push(placeOf(twin.level, found, await boundOfTier(twin, sample, measuring)));
    }
    onProgress(PARTS.calibration + PARTS.bounds);
    const epochs = await epochsOf({ made, prefetcher, sample, places }, options);
    return {
      sample: { objects: sample.length, bytes: sum(sample), listed: objects.length },
      places,
      epochs,
    };
  });
}

interface Whole extends Pick<Setup, 'made' | 'prefetcher'> {
  readonly sample: readonly ObjectStat[];
  readonly places: readonly PlaceResult[];
}

/** The first epoch and later ones, through a hierarchy with the twins as its tiers. */
async function epochsOf(
  { made, prefetcher, sample, places }: Whole,
  { seconds, bytes, clock, signal, onProgress }: BenchOptions,
): Promise<EpochResult[]> {
  const [source, ...tiers] = places.map(({ name }) => name);
  const names = [...tiers, source ?? ''];
  const results: EpochResult[] = [];
  await using hierarchy = new Hierarchy({ ...made, source: new SomeObjects(made.source, sample) });
  await hierarchy.open({ signal });
  // Nothing is placed on a tier before its content was listed.
  await hierarchy.idle({ signal });
  const dataset = await Dataset.of(hierarchy, { signal, clock, prefetcher });
  const partMs = 1000 * seconds * PARTS.epoch;
  const longestMs = Math.max(LEAST_MS, partMs);
  const enough = { enoughMs: PLANNED * partMs, enoughBytes: PARTS.epoch * bytes };
  const training = { dataset, names, ...enough, longestMs, clock, signal };
  for (const first of [0, 1]) {
    const figures = await readEpochs(training, first);
    results.push({ ...figures, share: shareOf(figures, places) });
    onProgress(1 - PARTS.epoch * (1 - first));
  }
  return results;
}

function sum(objects: readonly ObjectStat[]): number {
  return objects.reduce((total, { size }) => total + size, 0);
}
