import { mkdtemp, readdir, truncate } from 'node:fs/promises';
import path from 'node:path';
import { systemClock, type Hierarchy, type StorageDriver } from '@tiered/core';
import { MetricsDriver, ThrottleDriver } from '@tiered/core/decorators';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { SlowMount } from '../../tools/fuse/slow-mount.js';
import { countsOf } from '../lib/counts.js';
import { shuffled, type Dataset } from './dataset.js';
import type { Loader } from './loader.js';
import type { Setup } from './setups.js';

/** The source of SYSTEMS.md section 5, so that figures stand beside those of the originals. */
const SOURCE_LATENCY_MS = 1;
export const SOURCE_BYTES_PER_SECOND = 150e6;

export const EPOCHS = 3;

/** Copies under way when the tier is filled ahead: MONARCH's pool. */
const COPIES_AT_ONCE = 6;

/** A dataset and how it is read. */
export interface Case extends Loader {
  readonly name: string;
  readonly dataset: Dataset;
  /** The source answers so many times as fast, and gives so many times as much. Default: 1. */
  readonly sourceTimes?: number;
  /**
   * Where a slow mount shows the dataset: the source is that. Default: the dataset's directory, which timers
   * slow down.
   */
  readonly mounted?: string;
}

/** A part of a run: filling the tier ahead, or an epoch. */
export interface Phase {
  readonly seconds: number;
  /** Of all threads of the process. */
  readonly cpuSeconds: number;
  /** What reached the storage behind the throttle. */
  readonly sourceOperations: number;
  readonly sourceBytes: number;
}

/** What was seen of a setup, once. */
export interface Run {
  readonly copying: Phase | undefined;
  readonly epochs: readonly Phase[];
  /** From the end of the first epoch until nothing was being placed; later epochs did not wait for it. */
  readonly idleSeconds: number | undefined;
  /** From the beginning until nothing was being placed after the last epoch. */
  readonly sourceBytes: number;
}

/** Storage as slow as the source of the bench. */
export function throttled(driver: StorageDriver, times = 1): StorageDriver {
  return new ThrottleDriver(driver, {
    latencyMs: SOURCE_LATENCY_MS / times,
    bytesPerSecond: SOURCE_BYTES_PER_SECOND * times,
  });
}

/** As slow, but by a mount, whose calls block. Closed by the caller. */
export function mountSlowly(directory: string): Promise<SlowMount> {
  return SlowMount.start(directory, {
    openMs: SOURCE_LATENCY_MS,
    readMs: SOURCE_LATENCY_MS,
    bytesPerSecond: SOURCE_BYTES_PER_SECOND,
  });
}

/** The source of a case, and what counts below whatever slows it down, or above a mount. */
export function sourceOf({ dataset, sourceTimes, mounted }: Case) {
  const counted = new MetricsDriver(new FileSystemDriver({ root: mounted ?? dataset.directory }));
  return { counted, source: mounted === undefined ? throttled(counted, sourceTimes) : counted };
}

/** Reads all epochs of a dataset under a setup, from an empty tier in a new directory below `scratch`. */
export async function runSetup(setup: Setup, which: Case, scratch: string): Promise<Run> {
  const { dataset } = which;
  const cache = await mkdtemp(path.join(scratch, 'cache-'));
  const { counted, source } = sourceOf(which);
  const { readAll, hierarchy, close } = await setup.open({ source, dataset, loader: which, cache });
  try {
    globalThis.gc?.();
    const before = countsOf(counted).bytes;
    const copying =
      setup.fillFirst === true && hierarchy !== undefined
        ? await measure(counted, () => placeAll(hierarchy, dataset))
        : undefined;
    const epochs: Phase[] = [];
    let idle: Promise<number> | undefined;
    for (let epoch = 0; epoch < (setup.epochs ?? EPOCHS); epoch++) {
      const order = shuffled(dataset, epoch);
      epochs.push(await measure(counted, () => readAll(order)));
      idle ??= hierarchy && secondsUntilIdle(hierarchy);
    }
    const idleSeconds = await idle;
    await hierarchy?.idle();
    return { copying, epochs, idleSeconds, sourceBytes: countsOf(counted).bytes - before };
  } finally {
    await close();
    await emptyFiles(cache);
  }
}

/**
 * Gives back the space of a tier, but leaves its files: ext4 is slow to make files for minutes after many
 * were deleted (it looks for inodes that were not deleted just now), and the next run would pay for that.
 */
export async function emptyFiles(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) await truncate(path.join(entry.parentPath, entry.name));
  }
}

async function measure(source: MetricsDriver, work: () => Promise<void>): Promise<Phase> {
  const before = countsOf(source);
  const cpu = process.cpuUsage();
  const start = systemClock.now();
  await work();
  const seconds = (systemClock.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const after = countsOf(source);
  return {
    seconds,
    cpuSeconds: (user + system) / 1e6,
    sourceOperations: after.operations - before.operations,
    sourceBytes: after.bytes - before.bytes,
  };
}

async function secondsUntilIdle(hierarchy: Hierarchy): Promise<number> {
  const start = systemClock.now();
  await hierarchy.idle();
  return (systemClock.now() - start) / 1000;
}

async function placeAll(hierarchy: Hierarchy, { objects }: Dataset): Promise<void> {
  const remaining = objects.values();
  const copyTheRest = async () => {
    for (const { key } of remaining) await hierarchy.place(key);
  };
  await Promise.all(Array.from({ length: COPIES_AT_ONCE }, copyTheRest));
}
