import { execFile, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Outcome } from './children/fill-the-disk.js';
import { bytesOf, objectsOf, putObject, tierOf, type Place } from './training.js';

/** A mount namespace of one's own, gone with its last process; some containers forbid it even to root. */
const canMount = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', os.tmpdir()]).status === 0;
const MIB = 1024 * 1024;
const CHUNK = 64 * 1024;
/** Never given to copies: directories and the index grow into it. */
const KEPT = 256 * 1024;
let directory: string;

beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-full-disk-'));
});

afterEach(() => fs.rmSync(directory, { recursive: true, force: true }));

/** A dataset of 8 MiB, and a tier that is let hold all of it. */
function newPlace(): Place {
  const place: Place = { directory, quotas: [40 * MIB], chunk: CHUNK, policy: 'firstFit' };
  for (let i = 0; i < 64; i++) putObject(place, `dir/${i}`, i % 2 === 0 ? 3 * CHUNK : CHUNK, i + 1);
  fs.mkdirSync(tierOf(place, 0));
  return place;
}

/** Trains on the place in a process whose tier is a disk of 4 MiB. */
async function trainOnSmallDisk(place: Place, what: 'tier' | 'index', readers: number): Promise<Outcome> {
  const script = path.join(import.meta.dirname, 'children/fill-the-disk.ts');
  const args = [script, JSON.stringify(place), what, String(readers)];
  const node = [process.execPath, '--conditions=tiered-source', '--import', 'tsx', ...args];
  const shell = ['sh', '-c', 'mount -t tmpfs -o size=4m tmpfs "$0" && exec "$@"', tierOf(place, 0), ...node];
  const { stdout } = await promisify(execFile)('unshare', ['-rm', ...shell]);
  return JSON.parse(stdout) as Outcome;
}

/**
 * In the end the disk is full but for what the writes lost that met its end: so many at a time, a chunk each.
 */
function expectFilled(outcome: Outcome, dataset: number): void {
  const { quotaBytes, usedBytes, reservedBytes, bytes, diskBytes, freeBytes, epochs, temporary } = outcome;
  expect(temporary).toEqual([]);
  // If copies took the very last block, the index cannot record what has failed until the next start.
  if (freeBytes > 0) expect(reservedBytes).toBe(0);
  expect(bytes, 'copies on the disk').toBeLessThanOrEqual(usedBytes);
  expect(Math.abs(diskBytes - usedBytes), 'the disk, but for directories').toBeLessThan(CHUNK);
  expect(quotaBytes - usedBytes, 'room that is still believed in').toBeLessThanOrEqual(12 * CHUNK + KEPT);
  expect(freeBytes, 'room that there is').toBeLessThanOrEqual(12 * CHUNK + KEPT);
  // What is on the tier is never brought again, and the rest once an epoch, but for what was on its way when
  // a write failed.
  for (const { had, brought } of epochs) {
    expect(brought).toBeGreaterThanOrEqual(dataset - had);
    expect(brought).toBeLessThanOrEqual(dataset - had + 12 * CHUNK);
  }
}

describe.skipIf(!canMount)(
  'a disk that is smaller than the quota (needs unshare and mount: run as root, or allow user namespaces)',
  () => {
    it.each([1, 4, 64])(
      '[Q2] [R1] [R2] lowers the quota, serves what is there, and training goes on (%i readers)',
      async (readers) => {
        const place = newPlace();
        const dataset = bytesOf(objectsOf(place));
        const outcome = await trainOnSmallDisk(place, 'tier', readers);
        expectFilled(outcome, dataset);
        expect(outcome.shrunk.at(-1)).toBe(outcome.quotaBytes);
        expect(new Set(outcome.faults).size, outcome.faults.join()).toBeLessThanOrEqual(1);
      },
    );

    it.each([1, 64])(
      '[Q2] [R1] [R2] of which not a block is left, not even for the index: reads go on, what is there is kept, and the next start fills the tier (%i readers)',
      async (readers) => {
        const place = newPlace();
        const dataset = bytesOf(objectsOf(place));
        const outcome = await trainOnSmallDisk(place, 'index', readers);
        // The first object was placed before, and nothing beside it as long as there was no room.
        const first = objectsOf(place).values().next().value?.byteLength;
        expect(outcome.epochs.slice(0, 3).map(({ had }) => had)).toEqual([first, first, first]);
        expect(outcome.faults.filter((code) => code !== 'TIERED_NO_SPACE')).toEqual([]);
        expect(outcome.shrunk.length).toBeGreaterThan(0);
        expect(Math.min(...outcome.shrunk), 'room for what is there').toBeGreaterThanOrEqual(
          first ?? Infinity,
        );
        expectFilled(outcome, dataset);
      },
    );
  },
);
