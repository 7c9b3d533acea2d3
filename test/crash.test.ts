import { Random } from '@tiered/core';
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { KillPoint } from './children/killing-driver.js';
import type { Life } from './children/live-until-killed.js';
import { cloneOf, expectNothingTwice, expectTrains, restart, restoreFrom } from './restart.js';
import { diskUsage, indexOf, putObject, sourceOf, tierOf, type Place } from './training.js';

const SEED = Number(process.env['TIERED_CRASH_SEED'] ?? randomInt(2 ** 31));
/** Rows of lives, each row on places of its own; all rows at the same time. */
const ROWS = 3;
/** Processes of a row, one after the other, each killed. */
const LIVES = inject('nightly') ? 8 : 2;
/** So large that what the index and directories take does not matter. */
const CHUNK = 64 * 1024;
const SIZES = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2.5 * CHUNK, 4 * CHUNK, 5 * CHUNK];
const OBJECTS = 16;
const KIB = 1024;

/** What a row trains on: each process is killed on all of these at once, at one of them at an exact call. */
const SHAPES: readonly Pick<Place, 'quotas' | 'policy' | 'layout'>[] = [
  { quotas: [1600 * KIB], policy: 'firstFit' },
  { quotas: [1000 * KIB, 1200 * KIB], policy: 'firstFit' },
  { quotas: [1500 * KIB], policy: 'lru' },
  { quotas: [1000 * KIB, 1200 * KIB], policy: 'promoting' },
  { quotas: [1600 * KIB], policy: 'firstFit', layout: 'packed' },
  { quotas: [1500 * KIB], policy: 'lru', layout: 'packed' },
];

/** A place, and the keys whose copies were said to be there, and not to be gone. */
interface Trained extends Place {
  readonly said: Set<string>;
}

let directory: string;

beforeAll(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-crash-'));
});

afterAll(() => fs.rmSync(directory, { recursive: true, force: true }));

function newPlace(row: number, index: number): Trained {
  const shape = SHAPES[index];
  if (shape === undefined) throw new Error(`there is no shape ${index}`);
  const place = {
    ...shape,
    directory: path.join(directory, `${row}-${index}`),
    chunk: CHUNK,
    said: new Set<string>(),
  };
  for (let i = 0; i < OBJECTS; i++) putObject(place, keyOf(i), SIZES[i % SIZES.length] ?? 0, i + 1);
  return place;
}

const keyOf = (i: number) => `dir${i % 3}/sub/object-${i}`;

/** Another program changes the dataset between two lives: some objects are others, some gone, some new. */
function changeSource(place: Trained, random: Random): void {
  for (let changes = random.below(14); changes > 0; changes--) {
    const key = keyOf(random.below(OBJECTS + 2));
    place.said.delete(key);
    const size = SIZES[random.below(SIZES.length)] ?? 0;
    if (random.below(5) === 0) fs.rmSync(path.join(sourceOf(place), key), { force: true });
    else putObject(place, key, size, 1 + random.below(1_000_000));
  }
}

/** What may be gone between two lives: all of a tier, or its index. */
const LOSSES = ['', 'index.db'] as const;

/** Sometimes a tier, or a part of its index, is gone. */
function changeTiers(place: Trained, random: Random): void {
  for (const [level] of place.quotas.entries()) {
    const what = LOSSES[random.below(14)];
    if (what === undefined) continue;
    const gone = what === '' ? tierOf(place, level) : path.join(path.dirname(indexOf(place, level)), what);
    if (fs.existsSync(gone)) place.said.clear();
    fs.rmSync(gone, { recursive: true, force: true });
  }
}

/** Calls of a process, and about how many of each it makes: it dies at one of them. */
const CALLS = [
  ['any', 8],
  ['any', 30],
  ['index', 6],
  ['index', 20],
  ['write', 5],
  ['create', 5],
  ['writeAt', 12],
  ['publish', 5],
  ['delete', 3],
  ['read', 12],
  ['list', 1],
] as const;

function nextKillPoint(random: Random): KillPoint {
  const [call, most] = CALLS[random.below(CALLS.length)] ?? CALLS[0];
  const when = (['before', 'within', 'after'] as const)[random.below(3)] ?? 'before';
  return { call, nth: 1 + random.below(most), when };
}

/** Runs a process until it is killed, by itself or after so many lines that it said. */
async function live(life: Life, places: readonly Trained[], lines: number): Promise<void> {
  const script = path.join(import.meta.dirname, 'children/live-until-killed.ts');
  const args = ['--conditions=tiered-source', '--import', 'tsx', script, JSON.stringify(life)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const faults: string[] = [];
  let count = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const [index = '', what = '', key = ''] = line.split(' ');
    const place = places[Number(index)];
    if (what === 'placed') place?.said.add(key);
    if (what === 'dropped') place?.said.delete(key);
    if (what === 'fault' && place?.policy === 'firstFit') faults.push(line);
    count += 1;
    if (count === lines) child.kill('SIGKILL');
  }
  expect(await exited, 'how the process ended').toEqual([null, 'SIGKILL']);
  expect(faults, 'faults of tiers').toEqual([]);
}

/** What must be true of a place after its process was killed; afterwards its tiers are what they were. */
async function check(place: Trained, random: Random): Promise<void> {
  for (const [level, quota] of place.quotas.entries())
    expect(diskUsage(tierOf(place, level)).diskBytes, `tier ${level} when killed`).toBeLessThanOrEqual(quota);
  const clone = cloneOf(place, 'clone');
  const life = await restart(place);
  // What was there is taken over meanwhile.
  await life.hierarchy.idle();
  for (const key of place.said) {
    const { level } = await life.hierarchy.stat(key);
    expect(level, `${key}, which was placed`).toBeLessThan(place.quotas.length);
  }
  const epochs = await expectTrains(place, life, random);
  restoreFrom(clone, place);
  if (place.policy !== 'firstFit') return;
  expect(life.faults).toEqual([]);
  // What is on the disk of a packed tier is more than its copies: those of objects that changed stay in their
  // segments for a while.
  if (place.layout !== 'packed') expectNothingTwice(place, epochs);
}

let failed = false;

async function runRow(row: number): Promise<void> {
  const random = new Random(SEED, row);
  const places = SHAPES.map((_, index) => newPlace(row, index));
  for (let n = 0; n < LIVES && !failed; n++) {
    for (const place of places) {
      changeSource(place, random);
      changeTiers(place, random);
    }
    const index = random.below(places.length);
    const level = random.below(places[index]?.quotas.length ?? 1);
    const kill = { place: index, level, point: nextKillPoint(random) };
    const fromOutside = random.below(6) === 0 ? 1 + random.below(80) : Infinity;
    const life = { seed: random.uint32(), places, kill };
    const step = `process ${n} of row ${row}, killed by itself at ${JSON.stringify(kill)}, or after ${fromOutside} lines`;
    try {
      await live(life, places, fromOutside);
      for (const place of places) await check(place, random);
    } catch (cause) {
      failed = true;
      throw new Error(`${step}; replay with TIERED_CRASH_SEED=${SEED}: ${String(cause)}`, { cause });
    }
  }
}

it('[T1] [T4] [A1] [Q1] [W1] a process killed at any instant leaves nothing wrong: bytes are right, quotas hold, what was placed is kept', async () => {
  const rows = await Promise.allSettled(Array.from({ length: ROWS }, (_, row) => runRow(row)));
  for (const row of rows) if (row.status === 'rejected') throw row.reason;
}, 600_000);
