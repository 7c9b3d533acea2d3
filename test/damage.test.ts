import { isTieredError, Random } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import fc from 'fast-check';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { cloneOf, expectNothingTwice, expectTrains, restart, type Restart } from './restart.js';
import { Trainer } from './trainer.js';
import {
  diskUsage,
  indexOf,
  objectsOf,
  putObject,
  readEpoch,
  sourceOf,
  tierOf,
  type Place,
} from './training.js';

const KIB = 1024;
const CHUNK = 50 * KIB;
const EVEN = 120 * KIB;
/** Of `even`, any two can be taken for each other by their size. */
const SIZES = {
  even: [EVEN, EVEN, EVEN, EVEN, EVEN],
  uneven: [170 * KIB, 40 * KIB, 0, 1, CHUNK, 230 * KIB, CHUNK + 49 * KIB, CHUNK + 1],
};
/** Room for three objects of `even` and a part of the fourth, and for most of `uneven`, beside the index. */
const QUOTA = 640 * KIB;
/** Places where an index is cut off, and bits that are flipped. */
const CUTS = inject('nightly') ? 8 : 3;
const FLIPS = inject('nightly') ? 24 : 4;
/** Histories of damages that are tried. */
const HISTORIES = inject('nightly') ? 20 : 3;
/** Bytes; what it says is damaged in other tests. */
const SQLITE_HEADER = 100;
const objectAt = (i: number) => `dir/${i}`;

let directory: string;

beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-damage-'));
});

afterEach(() => fs.rmSync(directory, { recursive: true, force: true }));

/** A place that was trained on, and left in order. */
async function trained(sizes: readonly number[], quotas: readonly number[]): Promise<Place> {
  const place: Place = { directory, quotas, chunk: CHUNK, policy: 'firstFit' };
  for (const [i, size] of sizes.entries()) putObject(place, objectAt(i), size, i + 1);
  await expectTrains(place, await restart(place), new Random(1));
  return place;
}

/** Files of copies, by the keys that begin their names; undefined if there is none. */
const copyOf = (place: Place, i: number) => {
  const root = tierOf(place, 0);
  const name = diskUsage(root).copies.find((copy) => copy.startsWith(`${objectAt(i)}@`));
  return name === undefined ? undefined : path.join(root, name);
};

function put(file: string, position: number, byte: number): void {
  const bytes = fs.readFileSync(file);
  bytes[position] = byte;
  fs.writeFileSync(file, bytes);
}

function flip(file: string, position: number, bit = 0): void {
  put(file, position, (fs.readFileSync(file)[position] ?? 0) ^ (1 << bit));
}

describe('damage to a copy between two lives is found when it is read, counted, told and made good', () => {
  const corrupt = { operation: 'read', error: { code: 'TIERED_DATA_CORRUPT' } };
  const missing = { operation: 'read', error: { code: 'TIERED_NOT_FOUND' } };

  it.each([
    ['a flipped byte', (copy: string) => flip(copy, 60 * KIB), corrupt, 'damaged'],
    ['a copy cut short', (copy: string) => fs.truncateSync(copy, 110 * KIB), corrupt, 'damaged'],
    ['a copy cut to nothing', (copy: string) => fs.truncateSync(copy), corrupt, 'damaged'],
    ['a copy that is too long', (copy: string) => fs.appendFileSync(copy, 'x'), corrupt, 'damaged'],
    [
      "another object's copy",
      (copy: string, other: string) => fs.copyFileSync(other, copy),
      corrupt,
      'damaged',
    ],
    ['a copy that is gone', (copy: string) => fs.rmSync(copy), missing, 'missing'],
    [
      'a directory in place of a copy',
      (copy: string) => {
        fs.rmSync(copy);
        fs.mkdirSync(copy);
      },
      missing,
      'missing',
    ],
  ] as const)('[T2] [R1] [R2] [Q1] %s', async (_, damage, fault, reason) => {
    const place = await trained(SIZES.even, [QUOTA]);
    damage(copyOf(place, 1) ?? '', copyOf(place, 2) ?? '');
    const life = await restart(place);
    const { hierarchy, faults, dropped } = life;
    await expectTrains(place, life, new Random(2), KIB * 4);
    expect(faults).toMatchObject([{ level: 0, key: objectAt(1), ...fault }]);
    expect(dropped).toEqual([`${objectAt(1)} ${reason}`]);
    expect(hierarchy.stats().placement).toMatchObject({ damaged: 1, outdated: 0 });
    const next = await restart(place);
    expectNothingTwice(place, await expectTrains(place, next, new Random(3)));
    expect(next.faults).toEqual([]);
  });
});

describe('a dataset that changed between two lives is served as it is now', () => {
  it.each([
    [
      'an object of the same size and other content',
      (place: Place) => putObject(place, objectAt(1), EVEN, 99),
    ],
    ['an object that is longer', (place: Place) => putObject(place, objectAt(1), EVEN + CHUNK, 99)],
    ['an object that is gone', (place: Place) => fs.rmSync(path.join(sourceOf(place), objectAt(1)))],
  ])('[V1] [R1] [Q1] %s: its copy is dropped at start', async (_, change) => {
    const place = await trained(SIZES.even, [QUOTA]);
    change(place);
    const life = await restart(place);
    await life.hierarchy.idle();
    expect(life.dropped).toEqual([`${objectAt(1)} outdated`]);
    expect(life.hierarchy.stats().placement).toMatchObject({ damaged: 0, outdated: 1 });
    expectNothingTwice(place, await expectTrains(place, life, new Random(2)));
    expect(life.faults).toEqual([]);
  });

  it('[R1] [Q1] an object that is new is placed if there is room', async () => {
    const place = await trained(SIZES.even, [2 * QUOTA]);
    putObject(place, objectAt(7), 2 * CHUNK, 7);
    const life = await restart(place);
    expectNothingTwice(place, await expectTrains(place, life, new Random(2)));
    expect(life.dropped).toEqual([]);
    expect(copyOf(place, 7)).toBeDefined();
  });
});

/** A place whose process was killed: changes of its index are in the index's log only. */
async function killed(): Promise<Place> {
  const place: Place = { directory, quotas: [QUOTA], chunk: CHUNK, policy: 'firstFit' };
  for (const [i, size] of SIZES.uneven.entries()) putObject(place, objectAt(i), size, i + 1);
  const trainer = new Trainer(place);
  await trainer.started;
  await trainer.ask({ ask: 'epoch', seed: 1 });
  trainer.kill();
  await trainer.exited;
  return place;
}

/**
 * Starts on what is there, with a program that knows nothing of the damage: every byte is right, the quota
 * holds, and nothing that is not known stays on the disk.
 * @param lives Starts until nothing is found missing any more: a tier with three faults in a row is not asked
 * for a while.
 */
async function expectRecovers(place: Place, seed: number, lives = 1): Promise<void> {
  for (let life = 0; life < lives; life++)
    await expectTrains(place, await restart(place), new Random(seed + life));
  const next = await restart(place);
  expectNothingTwice(place, await expectTrains(place, next, new Random(seed + lives)));
  expect(next.faults).toEqual([]);
}

describe('damage to the index between two lives', () => {
  it.each([
    ['an index that is gone', (index: string) => fs.rmSync(index)],
    ['an empty index', (index: string) => fs.truncateSync(index)],
    ['an index of zeros', (index: string) => fs.writeFileSync(index, Buffer.alloc(sizeOf(index)))],
    ['an index of noise', (index: string) => fs.writeFileSync(index, someBytes(3000, 1))],
    ['an index cut off within a page', (index: string) => fs.truncateSync(index, 3 * 4096 + 100)],
    ['an index without its last pages', (index: string) => fs.truncateSync(index, 2 * 4096)],
    // As SQLite has them in the header: they are found damaged by a look, by a statement and by a write.
    ['an index of an unknown format', (index: string) => flip(index, 47, 1)],
    ['an index that says it is empty', (index: string) => put(index, 63, 0)],
    ['an index that says it is of another form', (index: string) => flip(index, 63)],
    ['an index with pages of another length', (index: string) => flip(index, 20, 3)],
  ])('[R1] [Q1] %s: nothing is trusted, and all of it is deleted by the next start', async (_, damage) => {
    const place = await trained(SIZES.uneven, [QUOTA]);
    damage(indexOf(place, 0));
    const life = await restart(place);
    await life.hierarchy.idle();
    expect(diskUsage(tierOf(place, 0)).copies).toEqual([]);
    expect(life.hierarchy.stats().placement).toMatchObject({ adopted: 0, damaged: 0, outdated: 0 });
    expectNothingTwice(place, await expectTrains(place, life, new Random(2)));
    expect(life.faults).toEqual([]);
  });

  it('[R1] [Q1] the index of another tier: its copies are missing here, and what is here is deleted', async () => {
    const place = await trained(SIZES.uneven, [QUOTA]);
    const other = cloneOf(place, 'other');
    fs.rmSync(tierOf(other, 0), { recursive: true });
    await expectTrains(other, await restart(other), new Random(2));
    fs.rmSync(indexOf(place, 0));
    fs.copyFileSync(indexOf(other, 0), indexOf(place, 0));
    await expectRecovers(place, 3, 3);
  });

  it.each([
    ['deleted', (log: string) => fs.rmSync(log)],
    ['emptied', (log: string) => fs.truncateSync(log)],
    ['of noise', (log: string) => fs.writeFileSync(log, someBytes(20_000, 1))],
    ['cut in half', (log: string) => fs.truncateSync(log, sizeOf(log) >> 1)],
  ])(
    '[R1] [T4] the log of the index that a killed process left is %s: no byte is wrong',
    async (_, damage) => {
      const place = await killed();
      damage(`${indexOf(place, 0)}-wal`);
      const life = await restart(place);
      await readEpoch(life.hierarchy, objectsOf(place), new Random(2));
      await life.hierarchy.close();
      expect(life.faults.filter(({ error }) => !isTieredError(error))).toEqual([]);
    },
  );

  it('[R1] [Q1] an index that was cut off at any byte: no byte is wrong, and what it forgot is deleted', async () => {
    const place = await trained(SIZES.uneven, [QUOTA]);
    const size = sizeOf(indexOf(place, 0));
    for (let length = 0; length < size; length += Math.ceil(size / CUTS)) {
      const clone = cloneOf(place, 'clone');
      fs.truncateSync(indexOf(clone, 0), length);
      await expectRecovers(clone, length);
    }
  });

  it('[R1] [T2] an index with a bit that flipped, anywhere: no start fails, no byte is wrong, and what is found is made good', async () => {
    const place = await trained(SIZES.uneven, [QUOTA]);
    const index = fs.readFileSync(indexOf(place, 0));
    // The rest is room that nothing has.
    const used = [...index.keys()].filter((at) => at >= SQLITE_HEADER && index[at] !== 0);
    const random = new Random(4);
    for (let flips = 0; flips < FLIPS; flips++) {
      const clone = cloneOf(place, 'clone');
      const position = used[random.below(used.length)] ?? 0;
      flip(indexOf(clone, 0), position, random.below(8));
      await readTwice(clone);
      const { faults } = await readTwice(clone);
      expect(faults, `after a flip at ${position}`).toEqual([]);
    }
  });

  it('[R1] [T2] an index with text that is not UTF-8: no process ends, and the next start begins anew', async () => {
    const place = await trained(SIZES.uneven, [QUOTA]);
    const bytes = fs.readFileSync(indexOf(place, 0));
    for (let at = bytes.indexOf(objectAt(0)); at >= 0; at = bytes.indexOf(objectAt(0), at + 1))
      flip(indexOf(place, 0), at, 7);
    const { faults } = await readTwice(place);
    expect(faults).toMatchObject([{ operation: 'openIndex', error: { code: 'TIERED_DATA_CORRUPT' } }]);
    expectNothingTwice(place, await expectTrains(place, await restart(place), new Random(2)));
  });
});

/** A life of two epochs. */
async function readTwice(place: Place): Promise<Restart> {
  const life = await restart(place);
  for (let epoch = 0; epoch < 2; epoch++) {
    await readEpoch(life.hierarchy, objectsOf(place), new Random(epoch));
    await life.hierarchy.idle();
  }
  await life.hierarchy.close();
  return life;
}

/** What may happen between two lives; each at a place that a number chooses. */
const DAMAGES: Record<
  string,
  (at: { place: Place; copy: string; other: string; index: string; where: number }) => void
> = {
  'flip a copy': ({ copy, where }) => flip(copy, where % sizeOf(copy)),
  'cut a copy': ({ copy, where }) => fs.truncateSync(copy, where % (sizeOf(copy) + 1)),
  'extend a copy': ({ copy }) => fs.appendFileSync(copy, 'x'.repeat(GROWN)),
  'delete a copy': ({ copy }) => fs.rmSync(copy),
  'swap copies': ({ copy, other }) => fs.copyFileSync(other, copy),
  'cut the index': ({ index, where }) => fs.truncateSync(index, where % sizeOf(index)),
  'garbage behind the index': ({ index, where }) => fs.appendFileSync(index, someBytes(where % 200, where)),
  'delete the index': ({ index }) => fs.rmSync(index),
  'change an object': ({ place, where }) =>
    putObject(place, objectAt(where % 10), where % (4 * CHUNK), 100 + (where % 1000)),
  'delete an object': ({ place, where }) =>
    fs.rmSync(path.join(sourceOf(place), objectAt(where % 10)), { force: true }),
};
/** A block at least: what a copy grows by shows on the disk. */
const GROWN = 4096;
const sizeOf = (file: string) => fs.statSync(file).size;

const damage = fc.record({
  what: fc.constantFrom(...Object.keys(DAMAGES)),
  level: fc.nat(1),
  which: fc.nat(),
  where: fc.nat(),
});

/** Does it, if there is something to do it to. */
function inflict(
  place: Place,
  { what, level, which, where }: typeof damage extends fc.Arbitrary<infer T> ? T : never,
) {
  const root = tierOf(place, level);
  const copies = diskUsage(root).copies.sort();
  const copy = path.join(root, copies[which % copies.length] ?? '');
  // Of the same size, so that it grows by nothing; the copy itself if there is no other.
  const alike = copies.map((name) => path.join(root, name)).filter((one) => sizeOf(one) === sizeOf(copy));
  const index = indexOf(place, level);
  const target = what.endsWith('index') ? index : copy;
  if (!fs.existsSync(target) || fs.statSync(target).isDirectory() || sizeOf(target) === 0) return;
  DAMAGES[what]?.({ place, copy, other: alike[where % alike.length] ?? copy, index, where });
}

it('[T2] [V1] [R1] [R2] [Q1] whatever was damaged and changed, all bytes are right, quotas hold, and the start after that finds nothing wrong', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(damage, { minLength: 1, maxLength: 6 }),
      fc.constantFrom(1, 0.8),
      fc.nat(),
      async (damages, factor, seed) => {
        fs.rmSync(directory, { recursive: true, force: true });
        const place = await trained(SIZES.uneven, [450 * KIB, 500 * KIB]);
        for (const one of damages) inflict(place, one);
        const smaller = { ...place, quotas: place.quotas.map((quota) => Math.floor(quota * factor)) };
        const random = new Random(seed);
        await expectTrains(smaller, await restart(smaller), random, damages.length * GROWN);
        const next = await restart(smaller);
        expectNothingTwice(smaller, await expectTrains(smaller, next, random));
        expect(next.faults).toEqual([]);
      },
    ),
    { numRuns: HISTORIES },
  );
}, 240_000);
