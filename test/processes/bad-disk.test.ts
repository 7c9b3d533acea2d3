import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ManualClock } from '@tiered/core/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeDataset } from './dataset.js';
import { hierarchyOf, sourceOf, tierOf, type Place } from './place.js';

let directory: string;
let place: Place;
let keys: string[];

beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-disk-'));
  place = { directory, quota: 4_000_000, policy: 'firstFit' };
  keys = makeDataset(place, 20, 60_000);
  fs.mkdirSync(tierOf(place));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', tierOf(place)]);
});

afterEach(() => {
  execFileSync('umount', [tierOf(place)]);
  fs.rmSync(directory, { recursive: true, force: true });
});

const remount = (how: string) => execFileSync('mount', ['-o', `remount,${how}`, tierOf(place)]);
const ballast = () => path.join(tierOf(place), '.tiered', 'ballast');

function fillDisk(): void {
  const fd = fs.openSync(ballast(), 'w');
  try {
    for (;;) fs.writeSync(fd, Buffer.alloc(4096));
  } catch {
    // Full.
  } finally {
    fs.closeSync(fd);
  }
}

it.each([
  ['full', fillDisk, () => fs.rmSync(ballast())],
  ['read-only', () => remount('ro'), () => remount('rw')],
])(
  '[R2] a tier whose disk is %s at the start: reads are served, the fault is told, and the tier comes back when the disk does',
  async (_, spoil, mend) => {
    const first = hierarchyOf(place).hierarchy;
    await first.open();
    await first.close();
    spoil();
    const clock = new ManualClock();
    const { hierarchy, brought } = hierarchyOf(place, clock);
    const faults: string[] = [];
    hierarchy.on('tierFault', ({ error }) => faults.push((error as { code?: string }).code ?? String(error)));
    let mended = false;
    try {
      await hierarchy.open();
      const readAll = async () => {
        for (const key of keys) {
          const bytes = fs.readFileSync(path.join(sourceOf(place), key));
          expect(Buffer.compare(await hierarchy.read(key), bytes)).toBe(0);
        }
      };
      await readAll();
      expect(faults.length).toBeGreaterThan(0);
      mend();
      mended = true;
      // As long as a tier stays out of service, and again until all is placed.
      for (let epoch = 0; epoch < 10; epoch++) {
        await clock.advance(100_000);
        await readAll();
        await hierarchy.idle();
      }
      const before = brought();
      await readAll();
      expect(brought() - before).toBe(0);
    } finally {
      await hierarchy.close();
      if (!mended) mend();
    }
  },
);
