import { Hierarchy, MemoryDriver, type HierarchyOptions, type StorageDriver } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { Prefetcher, shuffledSequence } from '@tiered/prefetch';
import { PlacementHandler } from '@tiered/tiering';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';

const OBJECTS = 60;
/** Room for some of the objects. The last one that is placed is cut off. */
const QUOTA = 150_000;
const CHUNK = 4096;

/** Bytes of object number `i`. Some are larger than a chunk, one is empty. */
const sizeOf = (i: number) => i * 173;

/** A directory of 60 files, 305,000 bytes in all, of which one is empty. Gone when the test ends. */
export async function files(): Promise<{ readonly root: string; readonly keys: readonly string[] }> {
  const root = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
  onTestFinished(() => fs.rm(root, { recursive: true, force: true }));
  const keys = Array.from({ length: OBJECTS }, (_, i) => `sample-${i}`);
  for (const [i, key] of keys.entries()) await fs.writeFile(path.join(root, key), someBytes(sizeOf(i), i));
  return { root, keys };
}

/** A hierarchy over files, with a tier in RAM that holds about half of them. Closed when the test ends. */
export async function hierarchyOver(
  root: string,
  { wrap = (driver) => driver, ...options }: Partial<HierarchyOptions> & { wrap?: Wrap } = {},
): Promise<Hierarchy> {
  const hierarchy = await new Hierarchy({
    source: wrap(new FileSystemDriver({ root })),
    tiers: [{ driver: new MemoryDriver({ name: 'ram' }), quota: QUOTA }],
    placement: new PlacementHandler({ chunk: CHUNK }),
    ...options,
  }).open();
  onTestFinished(() => hierarchy.close());
  return hierarchy;
}

/** Puts something around the source. */
type Wrap = (driver: StorageDriver) => StorageDriver;

/** Reads two epochs, and waits until all that is to be placed is placed. */
export async function trainOver(hierarchy: Hierarchy, keys: readonly string[]): Promise<Prefetcher> {
  // Little memory, so that the second epoch is read and not copied from what the first left in the buffer.
  const options = { memory: 30_000 };
  const prefetcher = new Prefetcher(hierarchy, shuffledSequence(keys, { seed: 1, epochs: 2 }), options);
  let bytes = 0;
  for await (const { data } of prefetcher) bytes += data.byteLength;
  if (bytes !== prefetcher.stats().bytes) throw new Error('bytes are missing');
  await hierarchy.idle();
  return prefetcher;
}
