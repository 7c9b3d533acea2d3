import { Hierarchy, MemoryDriver } from '@tiered/core';
import { openSamples } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';
import { DataLoader } from '@tiered/loader';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { listSequence, Prefetcher } from '@tiered/prefetch';
import { PlacementHandler } from '@tiered/tiering';
import { FROM_SOURCES } from '../../packages/loader/test/from-sources.js';
import { answerParent } from '../lib/child.js';
import { costOf, type Cost } from './cost-of.js';

/** The place of copies; `read` keeps none. */
export type Keeping = 'read' | 'ram' | 'files' | 'packed';

/** A way for samples to come to a training. */
export type Loop = 'readInto' | 'Prefetcher' | 'DataLoader' | 'DataLoader, 1 worker';

/** A task for a process of its own: to read objects, which are files of one size. */
export interface SubjectTask {
  readonly source: string;
  readonly bytes: number;
  readonly keeping: Keeping;
  readonly loop: Loop;
  /** An empty directory. */
  readonly tier: string;
  /** Objects that come first, and do not count; and the others. */
  readonly warm: readonly string[];
  readonly keys: readonly string[];
}

/** The costs of the objects when they were first read, and once they were on the tier. */
export interface SubjectCosts {
  readonly first: Cost;
  readonly again: Cost;
}

/** Reads under way at the same time, where nothing tunes them. */
const LANES = 16;
/** Passes of `measure` over the objects. */
const PASSES = 4;
/** Samples of a batch. */
const BATCH = 32;

/** A way to read objects, each once. */
type ReadAll = (keys: readonly string[]) => Promise<void>;

async function measure(task: SubjectTask): Promise<SubjectCosts> {
  const { warm, keys } = task;
  await using hierarchy = await open(task);
  const read = readerOf(hierarchy, task);
  const readAll = async (some: readonly string[]) => {
    await read(some);
    await hierarchy.idle();
  };
  await readAll(warm);
  const first = await costOf(keys.length, () => readAll(keys));
  await readAll(warm);
  const again = await costOf(keys.length, () => readAll(keys));
  return { first, again };
}

function open({ source, keeping, tier, bytes, warm, keys }: SubjectTask): Promise<Hierarchy> {
  const quota = 2 * bytes * (warm.length + keys.length) + 64e6;
  const driver =
    keeping === 'ram' ? new MemoryDriver() : new FileSystemDriver({ root: tier, writable: true });
  const layout = keeping === 'packed' ? 'packed' : 'files';
  return new Hierarchy({
    source: new FileSystemDriver({ root: source }),
    tiers: keeping === 'read' ? [] : [{ driver, quota, layout }],
    placement: new PlacementHandler(),
  }).open();
}

function readerOf(hierarchy: Hierarchy, { loop, bytes }: SubjectTask): ReadAll {
  if (loop === 'readInto') return readInto(hierarchy, bytes);
  if (loop === 'Prefetcher') return prefetched(hierarchy);
  return loaded(hierarchy, bytes, loop === 'DataLoader' ? 0 : 1);
}

function readInto(hierarchy: Hierarchy, bytes: number): ReadAll {
  const memory = Array.from({ length: LANES }, () => new Uint8Array(new SharedArrayBuffer(bytes)));
  return async (keys) => {
    const rest = keys.values();
    await Promise.all(
      memory.map(async (target) => {
        for (const key of rest) await hierarchy.readInto(key, target);
      }),
    );
  };
}

function prefetched(hierarchy: Hierarchy): ReadAll {
  return async (keys) => {
    let bytes = 0;
    for await (const { data } of new Prefetcher(hierarchy, listSequence(keys))) bytes += data.byteLength;
    if (bytes === 0) throw new Error('nothing was read');
  };
}

/** A loader of all objects. Each call takes an epoch, so samples are found once, and workers start once. */
function loaded(hierarchy: Hierarchy, bytes: number, workers: number): ReadAll {
  let loader: Awaited<ReturnType<typeof loaderOf>> | undefined;
  return async (keys) => {
    loader ??= await loaderOf(hierarchy, bytes, workers);
    let count = 0;
    for await (const { data } of loader.epoch()) count += data.length;
    if (count !== keys.length) throw new Error(`${count} of ${keys.length} samples came`);
  };
}

async function loaderOf(hierarchy: Hierarchy, bytes: number, workers: number) {
  const samples = await openSamples(hierarchy, { format: rawRecords({ recordBytes: bytes }) });
  const transform = { module: new URL('transform.mjs', import.meta.url), export: 'firstByte' };
  return new DataLoader(samples, {
    batchSize: BATCH,
    seed: 1,
    epochs: PASSES,
    ...(workers > 0 && { workers, transform, workerExecArgv: FROM_SOURCES }),
  });
}

await answerParent(measure);
