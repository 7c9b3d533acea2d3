import {
  Hierarchy,
  MetricsDriver,
  systemClock,
  type Clock,
  type Random,
  type StorageDriver,
} from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { firstFit, lru, PlacementHandler, promoting } from '@tiered/tiering';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

/** A dataset on the disk and tiers beside it, as several processes come to know of it. */
export interface Place {
  /** Holds `source` and `tier0`, `tier1`, ... */
  readonly directory: string;
  readonly quotas: readonly number[];
  readonly chunk: number;
  readonly policy: keyof typeof POLICIES;
  /** The directory of the dataset in it. Default: `source`. */
  readonly dataset?: string;
}

const POLICIES = { firstFit, lru, promoting: promoting(firstFit) };

export const sourceOf = ({ directory, dataset = 'source' }: Place): string => path.join(directory, dataset);
export const tierOf = ({ directory }: Place, level: number): string => path.join(directory, `tier${level}`);
export const logOf = (place: Place, level: number): string =>
  path.join(tierOf(place, level), '.tiered', 'log');

/** A hierarchy over a place that has not started, and what it brings from the source. */
export function hierarchyOf(
  place: Place,
  around: (driver: StorageDriver, level: number) => StorageDriver = (driver) => driver,
  clock: Clock = systemClock,
): { readonly hierarchy: Hierarchy; readonly brought: () => number } {
  const source = new MetricsDriver(new FileSystemDriver({ root: sourceOf(place) }));
  const tiers = place.quotas.map((quota, level) => {
    const driver = new FileSystemDriver({ root: tierOf(place, level), writable: true });
    return { driver: around(driver, level), quota };
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

/** What is on a tier's disk: copies, and what is being written. */
export interface DiskUsage {
  /** Sum of the sizes of files, without logs. */
  readonly bytes: number;
  readonly copies: string[];
  /** Names of temporary files. */
  readonly temporary: string[];
}

/** Walks a tier. Other processes may write to it meanwhile: a file that is renamed is counted once. */
export function diskUsage(root: string): DiskUsage {
  const sizes = new Map<bigint, number>();
  const usage = { copies: [] as string[], temporary: [] as string[] };
  for (const name of fs.existsSync(root) ? fs.readdirSync(root, { recursive: true, encoding: 'utf8' }) : []) {
    const file = path.join(root, name);
    const stat = fs.lstatSync(file, { bigint: true, throwIfNoEntry: false });
    if (stat?.isDirectory() !== false || name === path.join('.tiered', 'log')) continue;
    const isTemporary = name.startsWith(path.join('.tiered', 'tmp'));
    if (isTemporary) usage.temporary.push(path.basename(name));
    else usage.copies.push(name);
    if (!isTemporary || !isLog(file)) sizes.set(stat.ino, Number(stat.size));
  }
  return { ...usage, bytes: [...sizes.values()].reduce((sum, size) => sum + size, 0) };
}

/** Whether a file holds lines of a log, as one does that is to take the place of another. */
function isLog(file: string): boolean {
  const head = Buffer.alloc(32);
  try {
    const fd = fs.openSync(file, 'r');
    fs.readSync(fd, head);
    fs.closeSync(fd);
  } catch {
    // Gone meanwhile.
  }
  return /^[0-9a-f]{8} \{"op":/.test(head.toString('latin1'));
}
