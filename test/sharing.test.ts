import { Random, systemClock, type Hierarchy } from '@tiered/core';
import { HoldingDriver, settled } from '@tiered/core/testing';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { KillPoint } from './children/killing-driver.js';
import { indexContents } from './index-contents.js';
import { fillTiers } from './restart.js';
import { Trainer } from './trainer.js';
import {
  bytesOf,
  diskUsage,
  hierarchyOf,
  indexOf,
  objectsOf,
  putObject,
  readEpoch,
  tierOf,
  type DiskUsage,
  type Place,
} from './training.js';

/** So large that what the index and directories take does not matter. */
const CHUNK = 64 * 1024;
const OBJECTS = 40;
/** Placings that are held in the middle. */
const HELD = 4;

let directory: string;
let trainers: Trainer[];
/** The objects of each dataset. */
let contents: Map<string, Uint8Array[]>;

beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-sharing-'));
  trainers = [];
  contents = new Map();
});

afterEach(() => {
  for (const trainer of trainers) trainer.kill();
  fs.rmSync(directory, { recursive: true, force: true });
});

/** A process that trains on a place, until the test ends at the latest. */
function train(place: Place, kill?: KillPoint): Trainer {
  const trainer = new Trainer(place, kill);
  trainers.push(trainer);
  return trainer;
}

/**
 * A dataset of 40 objects of up to 4 chunks, whose content differs with `seed`, and a tier for a part of it.
 */
function newPlace(quota: number, dataset = 'source', seed = 0): Place {
  const place: Place = { directory, quotas: [quota], chunk: CHUNK, policy: 'firstFit', dataset };
  const random = new Random(1);
  // Large enough to be told apart by their first bytes.
  const sizes = Array.from({ length: OBJECTS }, () => 100 + random.below(4 * CHUNK));
  for (const [i, size] of sizes.entries()) putObject(place, `dir/${i}`, size, 1 + i + seed);
  contents.set(dataset, [...objectsOf(place).values()]);
  return place;
}

/** What is on the tier, as long as it is within the quota and has no object twice. */
function expectSound(datasets: readonly [Place, ...Place[]]): DiskUsage {
  const [place] = datasets;
  const usage = diskUsage(tierOf(place, 0));
  expect(usage.diskBytes, 'bytes on the disk').toBeLessThanOrEqual(place.quotas[0] ?? 0);
  const objects = datasets.flatMap((one) => [...(contents.get(one.dataset ?? '') ?? [])]);
  const owners = usage.copies.map((copy) => {
    const bytes = readIfThere(path.join(tierOf(place, 0), copy));
    return bytes && objects.findIndex((object) => bytes.equals(object.subarray(0, bytes.byteLength)));
  });
  const there = owners.filter((owner) => owner !== undefined);
  expect(there, 'owners of copies').not.toContain(-1);
  expect(new Set(there).size, 'objects on the disk').toBe(there.length);
  return usage;
}

/** Bytes of the copy of an object; without one, of all copies. */
function copyBytes(place: Place, key?: string): number {
  const root = tierOf(place, 0);
  const copies = diskUsage(root).copies.filter((name) => key === undefined || name.startsWith(`${key}@`));
  return copies.reduce((sum, copy) => sum + fs.statSync(path.join(root, copy)).size, 0);
}

/**
 * Epochs of objects of so many bytes brought what was not on the tier. It held some bytes of copies before,
 * and some after them: leased room moves to those who want it, and what is placed there may be brought to its
 * reader and once more to the tier.
 */
function expectBrought(brought: number, dataset: number, before: number, after: number): void {
  expect(brought).toBeGreaterThanOrEqual(dataset - after);
  expect(brought).toBeLessThanOrEqual(dataset - before + (after - before));
}

/**
 * What is not filled is leased to one of three processes, a 16th to each, or kept for the index and
 * directories.
 */
function expectFilled({ quotas: [quota = 0] }: Place, bytes: number): void {
  expect(bytes, 'bytes of copies').toBeGreaterThan(0.6 * quota);
}

function readIfThere(file: string): Buffer | undefined {
  return fs.existsSync(file) ? fs.readFileSync(file) : undefined;
}

/**
 * A hierarchy in the middle of placing: calls of this kind, and writes of a whole copy, wait until they are
 * let go.
 */
async function holding(
  operation: 'publish' | 'writeAt',
  place: Place,
): Promise<{ hierarchy: Hierarchy; release: (work?: () => Promise<unknown>) => Promise<void> }> {
  const tiers: HoldingDriver[] = [];
  const { hierarchy } = hierarchyOf(place, (driver) => {
    const tier = new HoldingDriver(driver, { operations: ['write', operation] });
    tiers.push(tier);
    return tier;
  });
  await hierarchy.open();
  let isReleased = false;
  // Again and again: room that is first to be asked for is there a little later.
  const placing = [...objectsOf(place).keys()].slice(0, 12).map(async (key) => {
    while (!isReleased && (await hierarchy.place(key)) > 0) await systemClock.sleep(1);
  });
  while ((tiers[0]?.held.length ?? 0) < HELD) await settled();
  /** Lets all calls go until what was being placed, and some work after that, has ended. */
  const release = async (work?: () => Promise<unknown>) => {
    isReleased = true;
    let ended = false;
    const all = Promise.all(placing)
      .then(() => work?.())
      .then(() => hierarchy.idle())
      .finally(() => (ended = true));
    while (!ended) await tiers[0]?.releaseAll();
    await all;
  };
  return { hierarchy, release };
}

it('[T3] [R1] [Q1] three processes in turns: what one placed serves the others, and is brought once', async () => {
  const place = newPlace(2_900_000);
  const keys = [...objectsOf(place).keys()];
  const all = [1, 2, 3].map((seed) => ({
    trainer: train(place),
    order: [...new Random(seed).permutation(keys.length)],
  }));
  await Promise.all(all.map(({ trainer }) => trainer.started));
  const objects = objectsOf(place);
  const placed = new Set<string>();
  let [brought, owed] = [0, 0];
  for (const { trainer } of all) trainer.onSaid = (said) => said.say === 'placed' && placed.add(said.key);
  for (let turn = 0; turn < keys.length; turn++) {
    for (const { trainer, order } of all) {
      const key = keys[order[turn] ?? 0] ?? '';
      // Nobody brings what is on the tier, whole or in part, except who places it.
      const held = placed.has(key) ? copyBytes(place, key) : 0;
      const answer = await trainer.ask({ ask: 'object', key });
      brought += answer.brought;
      owed += (objects.get(key)?.byteLength ?? 0) - held;
      expect(answer.usedBytes).toBeLessThanOrEqual(place.quotas[0] ?? 0);
    }
    expectSound([place]);
  }
  expect(bytesOf(objects)).toBeGreaterThan(4_000_000);
  expectFilled(place, expectSound([place]).bytes);
  // Where the room comes to its end, and was leased to another, an object may be brought to its reader and
  // once more to the tier.
  expect(brought).toBeGreaterThanOrEqual(owed);
  expect(brought).toBeLessThanOrEqual(owed * 1.03);
  expect(all.flatMap(({ trainer }) => trainer.faults)).toEqual([]);
});

it('[T3] [T4] [R1] [R2] [Q1] three processes at the same time, one of which is killed: the others go on, and the next to start clears up', async () => {
  const place = newPlace(2_900_000);
  const [a, b] = [train(place), train(place)];
  const victim = train(place, { call: 'publish', nth: 3, when: 'before' });
  await Promise.all([a, b, victim].map(({ started }) => started));
  for (const trainer of [a, b, victim])
    trainer.onSaid = ({ say }) => say === 'placed' && expectSound([place]);
  const dataset = bytesOf(objectsOf(place));
  const epochs = [a, b, victim].map((trainer, seed) => trainer.ask({ ask: 'epoch', seed }));
  const ends = await Promise.allSettled(epochs);
  // It comes to its end if the others were so much faster that there was not that much for it to place.
  if (ends[2]?.status === 'fulfilled') victim.kill();
  expect(await victim.exited).toEqual([null, 'SIGKILL']);
  for (const [i, trainer] of [a, b].entries()) {
    const end = ends[i];
    if (end?.status !== 'fulfilled') throw new Error('a process that goes on', { cause: end?.reason });
    const { placedBytes } = await indexContents(place, 0);
    const { brought } = await trainer.ask({ ask: 'epoch', seed: 10 + i });
    // What was on the tier serves both, whoever placed it; the dead one among them.
    expectBrought(brought, dataset, placedBytes, copyBytes(place));
  }
  const next = train(place);
  await next.started;
  // All others are idle: what there was of the dead one is gone.
  expect(expectSound([place]).temporary).toEqual([]);
  expect(fs.readdirSync(path.join(tierOf(place, 0), '.tiered/members'))).toHaveLength(3);
  for (const trainer of [next, a, b]) await trainer.ask({ ask: 'fill' });
  const { bytes, temporary } = expectSound([place]);
  expect(temporary).toEqual([]);
  for (const trainer of [next, a, b]) {
    const { brought, usedBytes, reservedBytes } = await trainer.ask({ ask: 'epoch', seed: 30 });
    expectBrought(brought, dataset, bytes, expectSound([place]).bytes);
    // What others had claimed is known until it is looked at again.
    let reserved = reservedBytes;
    while (reserved > 0) ({ reservedBytes: reserved } = await trainer.ask({ ask: 'object', key: 'dir/0' }));
    expect(usedBytes).toBeGreaterThanOrEqual(bytes);
    expect(trainer.faults).toEqual([]);
  }
  expectFilled(place, bytes);
  for (const trainer of [next, a, b]) {
    await trainer.ask({ ask: 'close' });
    expect(await trainer.exited).toEqual([0, null]);
  }
  expect(expectSound([place]).bytes).toBeGreaterThanOrEqual(bytes);
});

it.each(['firstFit', 'lru'] as const)(
  '[T3] [T4] [R1] [Q1] three processes on one packed tier, one of which is killed: they serve each other, and the next to start clears up (%s)',
  async (policy) => {
    const quota = policy === 'lru' ? 1_200_000 : 2_900_000;
    const place: Place = { directory, quotas: [quota], chunk: CHUNK, policy, layout: 'packed' };
    const random = new Random(1);
    for (let i = 0; i < 200; i++) putObject(place, `dir/${i}`, 100 + random.below(20_000), i + 1);
    const [a, b] = [train(place), train(place)];
    const victim = train(place, { call: 'write', nth: 3, when: 'within' });
    await Promise.all([a, b, victim].map(({ started }) => started));
    const expectQuotaHolds = () =>
      expect(diskUsage(tierOf(place, 0)).diskBytes, 'bytes on the disk').toBeLessThanOrEqual(quota);
    let placed = 0;
    // A look takes as long as many of these take to be placed.
    for (const trainer of [a, b, victim])
      trainer.onSaid = ({ say }) => say === 'placed' && placed++ % 20 === 0 && expectQuotaHolds();
    const ends = await Promise.allSettled([a, b, victim].map((one, seed) => one.ask({ ask: 'epoch', seed })));
    for (const end of ends.slice(0, 2)) if (end.status === 'rejected') throw end.reason;
    if (ends[2]?.status === 'fulfilled') victim.kill();
    expect(await victim.exited).toEqual([null, 'SIGKILL']);
    const next = train(place);
    await next.started;
    expect(diskUsage(tierOf(place, 0)).temporary).toEqual([]);
    expect(diskUsage(tierOf(place, 0)).copies.length, 'files of some 200 copies').toBeLessThan(100);
    const dataset = bytesOf(objectsOf(place));
    for (const trainer of policy === 'lru' ? [] : [next, a, b]) await trainer.ask({ ask: 'fill' });
    for (const trainer of [next, a, b]) {
      const { brought } = await trainer.ask({ ask: 'epoch', seed: 30 });
      // All of it has room under first fit, whoever placed it; where copies leave, what they bring is another
      // matter.
      expect(brought).toBeLessThanOrEqual(policy === 'lru' ? dataset : 0.05 * dataset);
      expectQuotaHolds();
    }
    // Who has looked at what the others did knows of no claim any more.
    for (const trainer of [next, a, b]) {
      let reserved = Infinity;
      while (reserved > 0) ({ reservedBytes: reserved } = await trainer.ask({ ask: 'object', key: 'dir/0' }));
    }
    for (const trainer of [next, a, b]) {
      await trainer.ask({ ask: 'close' });
      expect(await trainer.exited).toEqual([0, null]);
    }
    expectQuotaHolds();
    // Of what the last one leaves nobody sees that its segment is empty, until the next one starts.
    const last = train(place);
    await last.started;
    await last.ask({ ask: 'close' });
    expect(await last.exited).toEqual([0, null]);
    expect((await indexContents(place, 0)).unfinished).toBe(0);
    // What another one lets go of is missing until it is looked at what others did.
    const faults = [a, b, next].flatMap((one) => one.faults);
    expect(faults.filter((fault) => policy !== 'lru' || !fault.includes('TIERED_NOT_FOUND'))).toEqual([]);
  },
);

it('[T3] [R1] [Q1] two datasets with the same keys on one tier at the same time are not mixed up, and share its quota', async () => {
  const training = newPlace(4_800_000, 'train');
  const val = newPlace(4_800_000, 'val', 1000);
  const both = [train(training), train(val)];
  await Promise.all(both.map(({ started }) => started));
  for (const trainer of both)
    trainer.onSaid = ({ say }) => {
      if (say === 'placed') expectSound([training, val]);
    };
  for (let epoch = 0; epoch < 2; epoch++)
    await Promise.all(both.map((trainer) => trainer.ask({ ask: 'epoch', seed: epoch })));
  const held = () => expectSound([training, val]).bytes;
  const datasets = bytesOf(objectsOf(training)) + bytesOf(objectsOf(val));
  /** An epoch of each. */
  const expectServed = async (trainers: readonly Trainer[], seed: number) => {
    const before = held();
    const answers = await Promise.all(trainers.map((trainer) => trainer.ask({ ask: 'epoch', seed })));
    const brought = answers.reduce((sum, answer) => sum + answer.brought, 0);
    expectBrought(brought, datasets, before, held());
  };
  await expectServed(both, 9);
  const bytes = held();
  // One starts anew while the other goes on: it finds its own copies, and leaves the others alone.
  await both[0]?.ask({ ask: 'close' });
  const next = train(training);
  await next.started;
  expect(held()).toBeGreaterThanOrEqual(bytes);
  await expectServed([next, both[1] ?? next], 10);
  expect([...both, next].flatMap(({ faults }) => faults)).toEqual([]);
});

it('[T3] [Q1] of two quotas the smaller holds, once the process that has it has met it', async () => {
  const large = newPlace(4_800_000);
  const small: Place = { ...large, quotas: [1_600_000] };
  const first = train(large);
  await first.started;
  let joined: Trainer | undefined;
  let placed = 0;
  first.onSaid = ({ say }) => {
    placed += say === 'placed' ? 1 : 0;
    if (placed === 5) joined ??= train(small);
  };
  await first.ask({ ask: 'epoch', seed: 1 });
  await joined?.started;
  for (let epoch = 0; epoch < 2; epoch++) {
    await Promise.all([first, joined ?? first].map((trainer) => trainer.ask({ ask: 'epoch', seed: epoch })));
    expectSound([small]);
  }
  await joined?.ask({ ask: 'close' });
  // It learns so when it next looks; each object is asked for until then, or until it is placed.
  for (let round = 0; round < 3; round++)
    for (const key of objectsOf(large).keys()) await first.ask({ ask: 'object', key });
  expect(expectSound([large]).bytes, 'the larger one holds again').toBeGreaterThan(4_000_000);
});

it('[T3] [Q1] an index that is deleted while it is in use: who has lost it publishes nothing that the others do not know', async () => {
  const place = newPlace(1_600_000);
  const first = await holding('writeAt', place);
  for (const end of ['', '-wal', '-shm']) fs.rmSync(indexOf(place, 0) + end);
  const second = hierarchyOf(place).hierarchy;
  await second.open();
  await readEpoch(second, objectsOf(place), new Random(1));
  await second.idle();
  await first.release();
  expectSound([place]);
  for (const hierarchy of [first.hierarchy, second, first.hierarchy]) {
    await first.release(() => readEpoch(hierarchy, objectsOf(place), new Random(2)));
    await hierarchy.idle();
    expectSound([place]);
  }
  await Promise.all([first.hierarchy.close(), second.close()]);
});

it('[T3] [Q1] a smaller quota holds also over what was on its way when its process started', async () => {
  const large = newPlace(4_800_000);
  const small: Place = { ...large, quotas: [900_000] };
  const first = await holding('publish', large);
  const joined = hierarchyOf(small).hierarchy;
  await joined.open();
  await first.release();
  expectSound([small]);
  await Promise.all([first.hierarchy.close(), joined.close()]);
});

it('[T3] [Q1] a smaller quota holds also if the tier is full of another dataset', async () => {
  const val = newPlace(4_800_000, 'val');
  const training: Place = { ...newPlace(4_800_000, 'train', 1000), quotas: [900_000] };
  const [first, second] = [hierarchyOf(val).hierarchy, hierarchyOf(training).hierarchy];
  await first.open();
  await readEpoch(first, objectsOf(val), new Random(1));
  await first.idle();
  await second.open();
  await second.idle();
  expectSound([training, val]);
  for (const place of [val, training])
    await readEpoch(place === val ? first : second, objectsOf(place), new Random(2));
  expectSound([training, val]);
  await Promise.all([first.close(), second.close()]);
});

it('[T3] [R1] [R2] a directory that is emptied while it is in use, and filled by another dataset with the same keys: no byte is wrong', async () => {
  const val = newPlace(4_800_000, 'val');
  const training = newPlace(4_800_000, 'train', 1000);
  const [first, second] = [hierarchyOf(val).hierarchy, hierarchyOf(training).hierarchy];
  await first.open();
  await fillTiers(val, first, objectsOf(val).keys());
  for (const name of fs.readdirSync(tierOf(val, 0)))
    fs.rmSync(path.join(tierOf(val, 0), name), { recursive: true });
  await second.open();
  await fillTiers(training, second, [...objectsOf(training).keys()].slice(0, OBJECTS / 2));
  // Names are never used twice: who believes in a copy of before finds nothing, and never something else.
  for (let epoch = 0; epoch < 2; epoch++) {
    await readEpoch(first, objectsOf(val), new Random(epoch));
    await readEpoch(second, objectsOf(training), new Random(epoch));
  }
  await Promise.all([first.idle(), second.idle()]);
  expectSound([training, val]);
  await Promise.all([first.close(), second.close()]);
});
