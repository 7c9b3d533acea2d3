import { Random } from '@tiered/core';
import { randomInt } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { Child, type Fault } from './child.js';
import { makeDataset } from './dataset.js';
import { bytesOnDisk } from './disk.js';
import { hierarchyOf, sourceOf, tierOf, type Place } from './place.js';
import { programOf } from './program.js';
import { expectSoundIndex } from './sound.js';

const SEED = Number(process.env['TIERED_KILLS_SEED'] ?? randomInt(2 ** 31));
const PROCESSES = 4;
const KILLS = inject('nightly') ? 24 : 6;
const QUOTA = 3_000_000;

let directory: string;
let program: string;
let children: Child[];

beforeAll(async () => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-kills-'));
  program = await programOf('use-tier', path.join(directory, 'program'));
  children = [];
});

afterAll(async () => {
  await Promise.all(children.map((child) => child.kill()));
  fs.rmSync(directory, { recursive: true, force: true });
});

/** Half of the processes are in containers. */
async function begin(place: Place, number: number, seed: number): Promise<Child> {
  const child = new Child(program, place, { inContainer: number % 2 === 1 });
  children[number] = child;
  await child.started;
  child.tell({ ask: 'readForever', seed });
  return child;
}

/** Bytes of the tier at one instant: nobody goes on meanwhile. */
function sample(place: Place): number {
  const stopped: number[] = [];
  try {
    for (const { pid } of children) {
      process.kill(pid, 'SIGSTOP');
      stopped.push(pid);
    }
    return bytesOnDisk(tierOf(place), stopped);
  } finally {
    for (const pid of stopped) process.kill(pid, 'SIGCONT');
  }
}

function expectNothingWrong(): void {
  for (const child of children) {
    expect(child.said.filter(({ say }) => say === 'wrong')).toEqual([]);
    // What another one evicted is missing until it is looked at what others did.
    const isEvicted = ({ operation, code }: Fault) =>
      operation.startsWith('read') && code === 'TIERED_NOT_FOUND';
    expect(child.faults.filter((fault) => !isEvicted(fault))).toEqual([]);
  }
}

async function killTheseOften(place: Place, random: Random, most: number): Promise<void> {
  for (let number = 0; number < PROCESSES; number++) await begin(place, number, random.uint32());
  for (let kills = 0; kills < most; kills++) {
    for (let samples = random.below(3); samples >= 0; samples--) {
      await children[random.below(PROCESSES)]?.hears('reads', 1 + random.below(3));
      expect(sample(place), 'bytes on the disk').toBeLessThanOrEqual(place.quota);
    }
    expectNothingWrong();
    const number = random.below(PROCESSES);
    await children[number]?.kill();
    await begin(place, number, random.uint32());
  }
  expectNothingWrong();
  await Promise.all(children.map((child) => child.kill()));
}

it.each([
  { layout: 'files', objects: 90, largest: 150_000, kills: KILLS },
  // Small enough to be packed.
  { layout: 'packed', objects: 900, largest: 15_000, kills: KILLS / 3 },
] as const)(
  '[T3] [T4] [R1] [Q1] four processes, two of them in containers, fill one tier and are killed at any instant: bytes are right, the disk never holds more than the quota, every start works ($layout)',
  async ({ layout, objects, largest, kills }) => {
    const place: Place = { directory: path.join(directory, layout), quota: QUOTA, policy: 'lru', layout };
    const keys = makeDataset(place, objects, largest);
    try {
      await killTheseOften(place, new Random(SEED), kills);
      const { hierarchy } = hierarchyOf(place);
      await hierarchy.open();
      for (const key of keys)
        expect(
          Buffer.compare(await hierarchy.read(key), fs.readFileSync(path.join(sourceOf(place), key))),
        ).toBe(0);
      await hierarchy.idle();
      expect(bytesOnDisk(tierOf(place))).toBeLessThanOrEqual(QUOTA);
      await hierarchy.close();
      expectSoundIndex(place);
    } catch (cause) {
      const replay = `TIERED_KILLS_SEED=${SEED} npx vitest run test/processes/kills.test.ts`;
      throw new Error(`replay with ${replay}: ${String(cause)}`, { cause });
    }
  },
  300_000,
);
