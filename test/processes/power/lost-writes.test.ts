import { Random } from '@tiered/core';
import { randomInt } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { makeDataset } from '../dataset.js';
import { bytesOnDisk } from '../disk.js';
import { hierarchyOf, sourceOf, tierOf, type Place } from '../place.js';
import { programOf } from '../program.js';
import { expectSoundIndex } from '../sound.js';
import { DiskModel, type Kept } from './disk-model.js';
import { missing, traced, type Call } from './traced.js';

const SEED = Number(process.env['TIERED_POWER_SEED'] ?? randomInt(2 ** 31));
const CUTS = inject('nightly') ? 8 : 3;
/** How many objects, and how large at most; those on a packed tier are small enough for that. */
const DATASETS = { files: [24, 50_000], packed: [120, 15_000] } as const;

let directory: string;
let program: string;

beforeAll(async () => {
  directory = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-lost-')));
  program = await programOf('place-and-note', path.join(directory, 'program'));
});

afterAll(() => fs.rmSync(directory, { recursive: true, force: true }));

/** The calls of a process that uses a tier, and where it noted what. */
async function live(place: Place, keys: readonly string[], random: Random): Promise<[Call[], string]> {
  const notes = `${place.directory}-notes`;
  const order = Array.from({ length: 3 * keys.length }, () => keys[random.below(keys.length)] ?? '');
  const args = [program, JSON.stringify(place), notes, JSON.stringify(order)];
  return [await traced(args, `${place.directory}-calls`), notes];
}

/** The objects that were said to be placed, and not to be dropped, in so many calls. */
function saidIn(calls: readonly Call[], notes: string): Set<string> {
  const said = new Set<string>();
  for (const { name, paths, bytes } of calls) {
    if (name !== 'write' || paths[0] !== notes) continue;
    const [what, key = ''] = bytes.toString().split(' ');
    if (what === 'placed') said.add(key);
    else said.delete(key);
  }
  return said;
}

/**
 * Starts on what a power cut left, as a tier that is now at another path: what was said to be there is, and
 * all is right.
 */
async function expectGoesOn(
  place: Place,
  keys: readonly string[],
  said: ReadonlySet<string> | undefined,
): Promise<void> {
  // What it writes from then on need not wait for the disk.
  const { hierarchy, brought } = hierarchyOf({ ...place, fsync: false });
  const faults: unknown[] = [];
  hierarchy.on('tierFault', ({ operation, error }) => faults.push([operation, error]));
  await hierarchy.open();
  expect(faults, 'at the start').toEqual([]);
  const isRight = async (key: string) => {
    const bytes = fs.readFileSync(path.join(sourceOf(place), key));
    expect(Buffer.compare(await hierarchy.read(key), bytes), key).toBe(0);
  };
  for (const key of said ?? []) await isRight(key);
  if (said !== undefined) expect({ faults, brought: brought() }).toEqual({ faults: [], brought: 0 });
  for (const key of keys) await isRight(key);
  await hierarchy.idle();
  expect(bytesOnDisk(tierOf(place))).toBeLessThanOrEqual(place.quota);
  await hierarchy.close();
  if (said !== undefined) expect(faults).toEqual([]);
  expectSoundIndex(place, { mayMiss: said === undefined });
}

const QUOTAS = { firstFit: 4_000_000, lru: 700_000 };

/** Records what a process does, and cuts its power at some instants. */
async function expectSurvives(
  policy: 'firstFit' | 'lru',
  fsync: boolean,
  layout: keyof typeof DATASETS = 'files',
): Promise<void> {
  const random = new Random(SEED);
  const own = path.join(directory, `${policy} ${fsync} ${layout}`);
  const place: Place = { directory: own, quota: QUOTAS[policy], policy, fsync, layout };
  const [objects, largest] = DATASETS[layout];
  const keys = makeDataset(place, objects, largest);
  const [calls, notes] = await live(place, keys, random);
  expect(saidIn(calls, notes).size).toBeGreaterThan(5);
  for (let cuts = 0; cuts < CUTS; cuts++) {
    const upTo = random.below(calls.length + 1);
    const kept: Kept = cuts % 3 === 0 ? 'nothing' : 'any';
    const before = calls.slice(0, upTo);
    const model = new DiskModel(own);
    for (const call of before) model.apply(call);
    const left = path.join(own, `left-${cuts}`);
    model.writeTo(left, kept, random);
    const tier = path.join(left, 'tier');
    fs.mkdirSync(tier, { recursive: true });
    const said = fsync ? saidIn(before, notes) : undefined;
    await expectGoesOn({ ...place, tier }, keys, said).catch((cause: unknown) => {
      const replay = `TIERED_POWER_SEED=${SEED} npx vitest run test/processes/power`;
      const where = `${upTo} of ${calls.length} calls, kept ${kept}`;
      throw new Error(`replay with ${replay} (${where}): ${String(cause)}`, { cause });
    });
    fs.rmSync(left, { recursive: true });
  }
}

describe.skipIf(missing !== undefined && process.env['CI'] !== 'true')('a power cut', () => {
  it.each([
    ['firstFit', 'files'],
    ['lru', 'files'],
    ['lru', 'packed'],
  ] as const)(
    '[T4] [W3] [R1] [Q1] with fsync loses nothing that was said to be placed, and leaves nothing wrong, at any instant and whatever of the rest is lost (%s, %s)',
    (policy, layout) => expectSurvives(policy, true, layout),
  );

  it('[T4] [R1] [Q1] without fsync it leaves nothing wrong, whatever is lost', () =>
    expectSurvives('lru', false));
});
