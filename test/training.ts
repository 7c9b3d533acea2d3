import {
  Hierarchy,
  systemClock,
  type Clock,
  type Random,
  type StorageDriver,
  type TierLayout,
} from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { someBytes } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { firstFit, lru, PlacementHandler, promoting } from '@tiered/tiering';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { everythingIn } from './processes/disk.js';

/** A dataset on the disk and tiers beside it, as several processes come to know of it. */
export interface Place {
  /** Holds `source` and `tier0`, `tier1`, ... */
  readonly directory: string;
  readonly quotas: readonly number[];
  readonly chunk: number;
  readonly policy: keyof typeof POLICIES;
  /** How copies lie on the tiers. Default: `files`. */
  readonly layout?: TierLayout;
  /** The directory of the dataset in it. Default: `source`. */
  readonly dataset?: string;
}

const POLICIES = { firstFit, lru, promoting: promoting(firstFit) };

export const sourceOf = ({ directory, dataset = 'source' }: Place): string => path.join(directory, dataset);
export const tierOf = ({ directory }: Place, level: number): string => path.join(directory, `tier${level}`);
export const indexOf = (place: Place, level: number): string =>
  path.join(tierOf(place, level), '.tiered', 'index.db');

/** A hierarchy over a place that has not started, and what it brings from the source. */
export function hierarchyOf(
  place: Place,
  around: (driver: StorageDriver, level: number) => StorageDriver = (driver) => driver,
  clock: Clock = systemClock,
): { readonly hierarchy: Hierarchy; readonly brought: () => number } {
  const source = new MetricsDriver(new FileSystemDriver({ root: sourceOf(place) }));
  const tiers = place.quotas.map((quota, level) => {
    const driver = new FileSystemDriver({ root: tierOf(place, level), writable: true });
    return { driver: around(driver, level), quota, layout: place.layout };
  });
  const placement = new PlacementHandler({ chunk: place.chunk, policy: POLICIES[place.policy] });
  const hierarchy = new Hierarchy({ source, tiers, placement, clock });
  return { hierarchy, brought: () => source.metrics().operations.readInto?.bytes ?? 0 };
}

/** Makes or replaces an object of the source, as another program would; each seed has content of its own. */
export function putObject(place: Place, key: string, size: number, seed: number): void {
  const file = path.join(sourceOf(place), key);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(`${file}.new`, someBytes(size, seed));
  // Two changes within a tick of the file system's clock are two versions all the same.
  fs.utimesSync(`${file}.new`, new Date(0), new Date(seed * 1000));
  fs.renameSync(`${file}.new`, file);
}

/** Every object of the source as it is now. */
export function objectsOf(place: Place): Map<string, Uint8Array> {
  const root = sourceOf(place);
  const files = fs.readdirSync(root, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  const paths = files.map(({ parentPath, name }) => path.join(parentPath, name)).sort();
  return new Map(paths.map((file) => [path.relative(root, file), fs.readFileSync(file)]));
}

export function bytesOf(objects: Map<string, Uint8Array>): number {
  return [...objects.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** Reads every object once, several at a time, and compares each byte with the source's. */
export async function readEpoch(
  hierarchy: Hierarchy,
  objects: Map<string, Uint8Array>,
  random: Random,
  { inParts = false, readers = 4 } = {},
): Promise<void> {
  const order = [...random.permutation(objects.size)].map((i) => [...objects][i]);
  const reader = async (): Promise<void> => {
    for (let next = order.pop(); next !== undefined; next = order.pop()) {
      const [key, bytes] = next;
      const parts = inParts ? 1 + random.below(4) : 1;
      for (let part = 0; part < parts; part++) {
        const offset = inParts ? random.below(bytes.byteLength + 1) : 0;
        const length = inParts ? random.below(bytes.byteLength + 1) : bytes.byteLength;
        const got = await hierarchy.read(key, { offset, length });
        const wanted = bytes.subarray(offset, offset + length);
        assert(
          Buffer.compare(got, wanted) === 0,
          `${key}: ${length} bytes at ${offset} are not the source's`,
        );
      }
      if (random.below(6) === 0) await hierarchy.idle();
    }
  };
  await Promise.all(Array.from({ length: readers }, reader));
}

/** What is on a tier's disk: copies, what is being written, and the index. */
export interface DiskUsage {
  /** Sum of the sizes of copies and of temporary files. */
  readonly bytes: number;
  /** What all of it takes: blocks of files and of directories, those of `.tiered` too. */
  readonly diskBytes: number;
  readonly copies: string[];
  /** Names of temporary files. */
  readonly temporary: string[];
}

const STAT_BLOCK = 512;

/** Walks a tier. Other processes may write to it meanwhile: a file that is renamed is counted once. */
export function diskUsage(root: string): DiskUsage {
  const sizes = new Map<bigint, number>();
  const blocks = new Map<bigint, number>();
  const usage = { copies: [] as string[], temporary: [] as string[] };
  for (const file of [root, ...everythingIn(root)]) {
    const name = path.relative(root, file);
    const stat = fs.lstatSync(file, { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) continue;
    blocks.set(stat.ino, Number(stat.blocks) * STAT_BLOCK);
    if (stat.isDirectory()) continue;
    const isTemporary = name.startsWith(path.join('.tiered', 'tmp'));
    if (!isTemporary && name.startsWith('.tiered')) continue;
    (isTemporary ? usage.temporary : usage.copies).push(isTemporary ? path.basename(name) : name);
    sizes.set(stat.ino, Number(stat.size));
  }
  const sum = (of: Map<bigint, number>) => [...of.values()].reduce((all, one) => all + one, 0);
  return { ...usage, bytes: sum(sizes), diskBytes: sum(blocks) };
}
