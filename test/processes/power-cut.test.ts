import { Random } from '@tiered/core';
import { copyName } from '@tiered/core/internal';
import { randomInt } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import { makeDataset } from './dataset.js';
import { bytesOnDisk } from './disk.js';
import { rowsOf } from './index-of.js';
import { hierarchyOf, indexOf, sourceOf, tierOf, type Place } from './place.js';
import { expectSoundIndex } from './sound.js';

const SEED = Number(process.env['TIERED_POWER_SEED'] ?? randomInt(2 ** 31));
const CUTS = inject('nightly') ? 12 : 4;

let directory: string;
let place: Place;
let keys: string[];

beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-power-'));
});

afterEach(() => fs.rmSync(directory, { recursive: true, force: true }));

/**
 * Uses the tier twice over, and leaves it; between the two epochs the index is kept, as a cut may leave it.
 */
async function live(earlier: string): Promise<void> {
  const { hierarchy } = hierarchyOf(place);
  await hierarchy.open();
  const half = keys.length >> 1;
  const readAll = async (some: readonly string[]) => {
    for (const key of some) {
      const bytes = fs.readFileSync(path.join(sourceOf(place), key));
      expect(Buffer.compare(await hierarchy.read(key), bytes), key).toBe(0);
    }
    await hierarchy.idle();
  };
  await readAll(keys.slice(0, half));
  rowsOf(place, `VACUUM INTO '${earlier}'`);
  await readAll(keys);
  await hierarchy.close();
}

/** What was written and not synced is lost, or came without its content, in any order. */
function cut(earlier: string, random: Random): void {
  const root = tierOf(place);
  if (random.below(2) === 0) {
    for (const file of ['-wal', '-shm']) fs.rmSync(indexOf(place) + file, { force: true });
    fs.copyFileSync(earlier, indexOf(place));
  }
  for (const file of fs.readdirSync(root, { recursive: true, withFileTypes: true })) {
    if (!file.isFile() || file.parentPath.includes('.tiered')) continue;
    const full = path.join(file.parentPath, file.name);
    const size = fs.statSync(full, { throwIfNoEntry: false })?.size;
    if (size === undefined) continue;
    const what = random.below(8);
    if (what === 0) fs.rmSync(full);
    if (what === 1) fs.truncateSync(full, random.below(size + 1));
    if (what === 2) fs.writeFileSync(full, Buffer.alloc(size));
    // Segments lie in the root itself, which stays.
    const holder = path.dirname(full);
    if (what === 3 && holder !== root && random.below(3) === 0)
      fs.rmSync(holder, { recursive: true, force: true });
  }
  const unknown = path.join(root, copyName('Unknown/of/nobody', random.below(2 ** 31)));
  fs.mkdirSync(path.dirname(unknown), { recursive: true });
  fs.writeFileSync(unknown, Buffer.alloc(5000));
  fs.mkdirSync(path.join(root, 'Empty/of/nobody'), { recursive: true });
  rowsOf(place, `UPDATE meta SET boot = 'another boot'`);
}

it.each([
  { layout: 'files', policy: 'firstFit', objects: 30, largest: 60_000, cuts: CUTS },
  // Small enough to be packed, and more than there is room for.
  { layout: 'packed', policy: 'lru', objects: 300, largest: 15_000, cuts: CUTS / 2 },
] as const)(
  '[T2] [T4] [R1] [Q1] after a power cut every byte is right, the quota holds, and nothing stays that nobody knows ($layout, $policy)',
  async ({ layout, policy, objects, largest, cuts: most }) => {
    place = { directory, quota: layout === 'packed' ? 2_500_000 : 4_000_000, policy, layout };
    keys = makeDataset(place, objects, largest);
    const random = new Random(SEED);
    try {
      for (let cuts = 0; cuts < most; cuts++) {
        const earlier = path.join(directory, `earlier-${cuts}.db`);
        await live(earlier);
        cut(earlier, random);
        // The first reads after the cut find what is damaged; then all that is left is sound.
        await live(path.join(directory, `after-${cuts}.db`));
        expect(bytesOnDisk(tierOf(place))).toBeLessThanOrEqual(place.quota);
        // What is missing is found when it is read, as long as the tier is in service.
        expectSoundIndex(place, { mayMiss: true });
      }
    } catch (cause) {
      const replay = `TIERED_POWER_SEED=${SEED} npx vitest run test/processes/power-cut.test.ts`;
      throw new Error(`replay with ${replay}: ${String(cause)}`, { cause });
    }
  },
  300_000,
);
