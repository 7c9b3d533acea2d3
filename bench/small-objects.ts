import { Hierarchy, MemoryDriver, type TierLayout } from '@tiered/core';
import type { ReadRequest } from '@tiered/core/driver';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { alternate, medianMs, ratio, type Setups } from './lib/alternate.js';
import { atLeast, type Bench, type BenchOptions, type Check, type Row } from './lib/bench.js';
import { CReader } from './lib/c-reader.js';
import { quotaOnDisk } from './lib/on-disk.js';
import type { RoundProcess } from './lib/round-process.js';
import { withScratch } from './lib/scratch.js';

const LAYOUTS: readonly TierLayout[] = ['files', 'packed'];
/** Objects of a batch, and batches under way at the same time. */
const BATCH = 64;
const BATCHES = 3;
/**
 * C reads one file after the other; two threads, as many as the driver has for batches, read as fast as they
 * can.
 */
const C_THREADS = [1, 2];
/**
 * Aims: for objects of so many bytes, so many times as fast as plain files through the SDK, and as C on plain
 * files.
 */
const AIMED_BYTES = 10_000;
const TIMES_FILES = 3;

/** Objects of one size. */
interface Case {
  readonly bytes: number;
  readonly objects: number;
  readonly rounds: number;
}

function cases(quick: boolean): Case[] {
  const rounds = quick ? 3 : 9;
  const counts = quick ? [200, 200, 200, 100] : [10_000, 10_000, 10_000, 2000];
  return [1000, 4000, 10_000, 100_000].map((bytes, i) => ({ bytes, objects: counts[i] ?? 0, rounds }));
}

const bench: Bench = {
  summary: 'small objects on a tier, packed and as files, through the SDK, and plain files in C (page cache)',
  run: (options) =>
    withScratch(async (scratch) => {
      const rows: Row[] = [];
      const checks: Check[] = [];
      for (const which of cases(options.quick)) {
        const directory = path.join(scratch, String(which.bytes));
        await measureReads(which, directory, options, rows, checks);
        await measureFilling(which, directory, options, rows);
        await rm(directory, { recursive: true });
      }
      return { rows, checks };
    }),
};

export default bench;

async function measureReads(
  which: Case,
  directory: string,
  { progress }: BenchOptions,
  rows: Row[],
  checks: Check[],
): Promise<void> {
  const { bytes, rounds } = which;
  const keys = keysOf(which);
  const source = await sourceOf(which);
  const hierarchies: Hierarchy[] = [];
  const setups: Record<string, () => Promise<void>> = {};
  for (const layout of LAYOUTS) {
    const hierarchy = await startOn(source, path.join(directory, layout), layout, which);
    hierarchies.push(hierarchy);
    await fill(hierarchy, keys, bytes);
    setups[`${layout}, 1 at a time`] = singly(hierarchy, keys, bytes, 1);
    setups[`${layout}, 8 at a time`] = singly(hierarchy, keys, bytes, 8);
    setups[`${layout}, readMany`] = inBatches(hierarchy, keys, bytes);
  }
  const readers = await startC(which, path.join(directory, 'c'));
  for (const [i, reader] of readers.entries()) setups[`C, ${C_THREADS[i]} threads`] = () => reader.round();
  const timings = await alternate(setups satisfies Setups, rounds, (round) =>
    progress(`reads of ${bytes} bytes: round ${round} of ${rounds}`),
  );
  const hasC = readers.length > 0;
  for (const setup of timings.keys()) {
    const how = setup.slice(setup.indexOf(',') + 2);
    const base = setup.startsWith('C') ? setup : `files, ${how}`;
    rows.push({
      'bytes, warm': bytes,
      setup,
      'objects/s': (keys.length / medianMs(timings, setup)) * 1000,
      'x files': ratio(timings, setup, base),
      'x C, 1 thread': hasC ? ratio(timings, setup, 'C, 1 threads') : '',
    });
  }
  if (bytes === AIMED_BYTES) {
    for (const how of ['1 at a time', 'readMany']) {
      const times = ratio(timings, `packed, ${how}`, `files, ${how}`);
      checks.push(atLeast(`packed, ${how}, ${bytes} bytes`, times, TIMES_FILES, 'x files'));
    }
    if (hasC) {
      const times = ratio(timings, 'packed, 1 at a time', 'C, 1 threads');
      checks.push(atLeast(`packed, 1 at a time, ${bytes} bytes`, times, 1, 'x C'));
    }
  }
  for (const hierarchy of hierarchies) await hierarchy.close();
  for (const reader of readers) await reader.close();
}

/** From a source in memory, so that writing is what takes time. */
async function measureFilling(
  which: Case,
  directory: string,
  { progress, quick }: BenchOptions,
  rows: Row[],
): Promise<void> {
  const { bytes } = which;
  const keys = keysOf(which);
  const source = await sourceOf(which);
  const setups: Record<string, () => Promise<void>> = {};
  let rounds = 0;
  for (const layout of LAYOUTS)
    setups[layout] = async () => {
      const hierarchy = await startOn(source, path.join(directory, `fill-${(rounds += 1)}`), layout, which);
      await fill(hierarchy, keys, bytes);
      await hierarchy.close();
    };
  const timings = await alternate(setups satisfies Setups, quick ? 1 : 3, (round) =>
    progress(`filling with ${bytes} bytes: round ${round}`),
  );
  for (const setup of timings.keys())
    rows.push({
      'bytes, filling': bytes,
      setup,
      'objects/s': (keys.length / medianMs(timings, setup)) * 1000,
      'x files': ratio(timings, setup, 'files'),
    });
}

function keysOf({ objects }: Case): string[] {
  return Array.from({ length: objects }, (_, i) => `class-${i % 10}/${i}.bin`);
}

async function sourceOf(which: Case): Promise<MemoryDriver> {
  const source = new MemoryDriver();
  const content = new Uint8Array(which.bytes).fill(7);
  for (const key of keysOf(which)) await source.write(key, content, { size: which.bytes });
  return source;
}

async function startOn(
  source: MemoryDriver,
  root: string,
  layout: TierLayout,
  { objects, bytes }: Case,
): Promise<Hierarchy> {
  const driver = new FileSystemDriver({ root, writable: true });
  const quota = 2 * quotaOnDisk(objects * bytes, objects);
  const hierarchy = new Hierarchy({
    source,
    tiers: [{ driver, quota, layout }],
    placement: new PlacementHandler(),
  });
  return hierarchy.open();
}

/** As a first epoch does: many reads at a time, and everything is placed. */
async function fill(hierarchy: Hierarchy, keys: readonly string[], bytes: number): Promise<void> {
  await inBatches(hierarchy, keys, bytes)();
  await hierarchy.idle();
  const { placed } = hierarchy.stats().placement;
  if (placed !== keys.length) throw new Error(`${placed} of ${keys.length} objects were placed`);
}

function singly(
  hierarchy: Hierarchy,
  keys: readonly string[],
  bytes: number,
  readers: number,
): () => Promise<void> {
  return async () => {
    let next = 0;
    const read = async () => {
      const target = new Uint8Array(bytes);
      while (next < keys.length) {
        const count = await hierarchy.readInto(keys[next++] ?? '', target);
        if (count !== bytes) throw new Error(`${count} of ${bytes} bytes were read`);
      }
    };
    await Promise.all(Array.from({ length: readers }, read));
  };
}

/** Into shared memory, as the staging buffer does. */
function inBatches(hierarchy: Hierarchy, keys: readonly string[], bytes: number): () => Promise<void> {
  const memory = new SharedArrayBuffer(BATCHES * BATCH * bytes);
  return async () => {
    let next = 0;
    const readLane = async (_: unknown, lane: number) => {
      while (next < keys.length) {
        const some = keys.slice(next, next + BATCH);
        next += some.length;
        const requests: ReadRequest[] = some.map((key, i) => ({
          key,
          offset: 0,
          target: new Uint8Array(memory, (lane * BATCH + i) * bytes, bytes),
        }));
        for (const outcome of await hierarchy.readMany(requests))
          if (!('bytes' in outcome) || outcome.bytes !== bytes) throw new Error('a read of a batch failed');
      }
    };
    await Promise.all(Array.from({ length: BATCHES }, readLane));
  };
}

async function startC(which: Case, directory: string): Promise<RoundProcess[]> {
  if (!CReader.available) return [];
  const files = path.join(directory, 'files');
  for (let i = 0; i < 10; i++) await mkdir(path.join(files, `class-${i}`), { recursive: true });
  const paths = keysOf(which).map((key) => path.join(files, key));
  const content = Buffer.alloc(which.bytes, 7);
  for (const file of paths) await writeFile(file, content);
  const readers: RoundProcess[] = [];
  for (const threads of C_THREADS) {
    const own = path.join(directory, String(threads));
    await mkdir(own);
    readers.push(await CReader.start({ directory: own, paths, bytes: which.bytes, threads, slots: 8 }));
  }
  return readers;
}
