import { Hierarchy, Random, systemClock } from '@tiered/core';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Work } from './loops.js';
import type { Source } from './sources.js';

/** Files of one size, in the page cache. */
export interface Dataset {
  readonly name: string;
  readonly directory: string;
  readonly count: number;
  readonly size: number;
}

const SEED = 1;

/** Writes so many files. */
export async function makeFiles(
  directory: string,
  name: string,
  count: number,
  size: number,
): Promise<Dataset> {
  await mkdir(directory, { recursive: true });
  const bytes = Buffer.alloc(size, name);
  for (let i = 0; i < count; i++) await writeFile(path.join(directory, `${i}`), bytes);
  return { name, directory, count, size };
}

/**
 * Opens a dataset behind a source: `count` reads of its files, round after round in a shuffled order. Closed
 * by whoever opened it.
 */
export async function openWork(dataset: Dataset, source: Source, count = dataset.count): Promise<Work> {
  const driver = source.open(dataset.directory);
  const hierarchy = await new Hierarchy({ source: driver }).open();
  const rounds = Math.ceil(count / dataset.count);
  const order = Array.from({ length: rounds }, (_, i) => [
    ...new Random(SEED, i).permutation(dataset.count),
  ]).flat();
  return {
    directory: dataset.directory,
    keys: order.slice(0, count).map((i) => `${i}`),
    size: dataset.size,
    driver,
    hierarchy,
  };
}

/** Seconds of some work, from a collected heap. */
export async function secondsOf(work: () => Promise<void>): Promise<number> {
  globalThis.gc?.();
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}

/** Begins to compute: each call takes so many milliseconds. */
export function computing(): (ms: number) => Promise<void> {
  // Absolute times: a timer that fires late is not computing.
  let busyUntil = systemClock.now();
  return async (ms) => {
    busyUntil = Math.max(busyUntil, systemClock.now() - 1) + ms;
    await systemClock.sleep(busyUntil - systemClock.now());
  };
}
