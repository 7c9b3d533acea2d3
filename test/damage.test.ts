import { Random } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import fc from 'fast-check';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cloneOf, expectNothingTwice, expectTrains, restart } from './restart.js';
import { diskUsage, logOf, putObject, sourceOf, tierOf, type Place } from './training.js';

const CHUNK = 500;
/** Of `even`, any two can be taken for each other by their size. */
const SIZES = { even: [1200, 1200, 1200, 1200, 1200], uneven: [1700, 400, 0, 1, 500, 2300, 999, 501] };
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
  const life = await restart(place);
  // The first ones fill the tiers.
  for (const i of sizes.keys()) await life.hierarchy.place(objectAt(i));
  await expectTrains(place, life, new Random(1));
  return place;
}

const copyOf = (place: Place, i: number) => path.join(tierOf(place, 0), objectAt(i));

function flip(file: string, position: number): void {
  const bytes = fs.readFileSync(file);
  bytes[position] = (bytes[position] ?? 0) ^ 1;
  fs.writeFileSync(file, bytes);
}

describe('damage to a copy between two lives is found when it is read, counted, told and made good', () => {
  const corrupt = { operation: 'read', error: { code: 'TIERED_DATA_CORRUPT' } };
  const missing = { operation: 'read', error: { code: 'TIERED_NOT_FOUND' } };

  it.each([
    ['a flipped byte', (copy: string) => flip(copy, 600), corrupt, 'damaged'],
    ['a copy cut short', (copy: string) => fs.truncateSync(copy, 1100), corrupt, 'damaged'],
    ['a copy cut to nothing', (copy: string) => fs.truncateSync(copy), corrupt, 'damaged'],
    ['a copy that is too long', (copy: string) => fs.appendFileSync(copy, 'x'), corrupt, 'damaged'],
    [
      "another object's copy",
      (copy: string) => fs.copyFileSync(copy.replace(/1$/, '2'), copy),
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
    const place = await trained(SIZES.even, [3700]);
    damage(copyOf(place, 1));
    const life = await restart(place);
    const { hierarchy, faults, dropped } = life;
    await expectTrains(place, life, new Random(2), 1);
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
      (place: Place) => putObject(place, objectAt(1), 1200, 99),
    ],
    ['an object that is longer', (place: Place) => putObject(place, objectAt(1), 1900, 99)],
    ['an object that is gone', (place: Place) => fs.rmSync(path.join(sourceOf(place), objectAt(1)))],
  ])('[V1] [R1] [Q1] %s: its copy is dropped at start', async (_, change) => {
    const place = await trained(SIZES.even, [3700]);
    change(place);
    const life = await restart(place);
    expect(life.dropped).toEqual([`${objectAt(1)} outdated`]);
    expect(life.hierarchy.stats().placement).toMatchObject({ damaged: 0, outdated: 1 });
    expectNothingTwice(place, await expectTrains(place, life, new Random(2)));
    expect(life.faults).toEqual([]);
  });

  it('[R1] [Q1] an object that is new is placed if there is room', async () => {
    const place = await trained(SIZES.even, [8000]);
    putObject(place, objectAt(7), 1000, 7);
    const life = await restart(place);
    expectNothingTwice(place, await expectTrains(place, life, new Random(2)));
    expect(life.dropped).toEqual([]);
    expect(fs.existsSync(copyOf(place, 7))).toBe(true);
  });
});

describe('damage to the log between two lives', () => {
  it.each([
    ['a log that is gone', (log: string) => fs.rmSync(log)],
    ['an empty log', (log: string) => fs.truncateSync(log)],
    ['a log of zeros', (log: string) => fs.writeFileSync(log, Buffer.alloc(fs.statSync(log).size))],
    ['a log of noise', (log: string) => fs.writeFileSync(log, someBytes(3000, 1))],
  ])('[R1] [Q1] %s: nothing is trusted, and all of it is deleted at start', async (_, damage) => {
    const place = await trained(SIZES.uneven, [3700]);
    damage(logOf(place, 0));
    const life = await restart(place);
    expect(diskUsage(tierOf(place, 0)).copies).toEqual([]);
    expect(life.hierarchy.stats().placement).toMatchObject({ adopted: 0, damaged: 0, outdated: 0 });
    expectNothingTwice(place, await expectTrains(place, life, new Random(2)));
    expect(life.faults).toEqual([]);
  });

  it.each([
    ['zeros', Buffer.alloc(100)],
    ['half a line', Buffer.from('\n01234567 {"op":"claim","mem')],
    ['lines of noise', Buffer.from('\nnoise\r\n\r\nnoise\r\n')],
    ['bytes', Buffer.from(someBytes(500, 3))],
  ])('[R1] [Q1] %s at its end: what is there is kept', async (_, garbage) => {
    const place = await trained(SIZES.uneven, [3700]);
    fs.appendFileSync(logOf(place, 0), garbage);
    const before = diskUsage(tierOf(place, 0));
    const life = await restart(place);
    expect(diskUsage(tierOf(place, 0))).toEqual(before);
    expectNothingTwice(place, await expectTrains(place, life, new Random(2)));
    expect(life.faults).toEqual([]);
  });

  it('[R1] [Q1] a log that was cut off at any byte, as a power cut does: what it forgot is deleted', async () => {
    const place = await trained(SIZES.uneven, [3700]);
    const { size } = fs.statSync(logOf(place, 0));
    for (let length = 0; length <= size; length += Math.ceil(size / 60)) {
      const clone = cloneOf(place, 'clone');
      fs.truncateSync(logOf(clone, 0), length);
      const life = await restart(clone);
      expectNothingTwice(clone, await expectTrains(clone, life, new Random(length)));
      expect(life.faults, `cut off at ${length}`).toEqual([]);
    }
  });

  it('[R1] [Q1] a log with a byte that flipped, anywhere: what cannot be known is deleted', async () => {
    const place = await trained(SIZES.uneven, [3700]);
    const bytes = fs.readFileSync(logOf(place, 0));
    for (let position = 0; position < bytes.byteLength; position += Math.ceil(bytes.byteLength / 60)) {
      const clone = cloneOf(place, 'clone');
      flip(logOf(clone, 0), position);
      const life = await restart(clone);
      expectNothingTwice(clone, await expectTrains(clone, life, new Random(position)));
      expect(life.faults, `flipped at ${position}`).toEqual([]);
    }
  });
});

/** What may happen between two lives; each at a place that a number chooses. */
const DAMAGES: Record<
  string,
  (at: { place: Place; copy: string; other: string; log: string; where: number }) => void
> = {
  'flip a copy': ({ copy, where }) => flip(copy, where % sizeOf(copy)),
  'cut a copy': ({ copy, where }) => fs.truncateSync(copy, where % (sizeOf(copy) + 1)),
  'extend a copy': ({ copy }) => fs.appendFileSync(copy, 'x'.repeat(GROWN)),
  'delete a copy': ({ copy }) => fs.rmSync(copy),
  'swap copies': ({ copy, other }) => fs.copyFileSync(other, copy),
  'flip the log': ({ log, where }) => flip(log, where % sizeOf(log)),
  'cut the log': ({ log, where }) => fs.truncateSync(log, where % (sizeOf(log) + 1)),
  'garbage in the log': ({ log, where }) => fs.appendFileSync(log, someBytes(where % 200, where)),
  'delete the log': ({ log }) => fs.rmSync(log),
  'change an object': ({ place, where }) =>
    putObject(place, objectAt(where % 10), where % 2000, 100 + (where % 1000)),
  'delete an object': ({ place, where }) =>
    fs.rmSync(path.join(sourceOf(place), objectAt(where % 10)), { force: true }),
};
const GROWN = 300;
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
  const log = logOf(place, level);
  const target = what.endsWith('log') ? log : copy;
  if (!fs.existsSync(target) || fs.statSync(target).isDirectory() || sizeOf(target) === 0) return;
  DAMAGES[what]?.({ place, copy, other: alike[where % alike.length] ?? copy, log, where });
}

it('[T2] [V1] [R1] [R2] [Q1] whatever was damaged and changed, all bytes are right, quotas hold, and the start after that finds nothing wrong', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(damage, { minLength: 1, maxLength: 6 }),
      fc.constantFrom(1, 0.6),
      fc.nat(),
      async (damages, factor, seed) => {
        fs.rmSync(directory, { recursive: true, force: true });
        const place = await trained(SIZES.uneven, [2000, 2500]);
        for (const one of damages) inflict(place, one);
        const smaller = { ...place, quotas: place.quotas.map((quota) => quota * factor) };
        const random = new Random(seed);
        await expectTrains(smaller, await restart(smaller), random, damages.length * GROWN);
        const next = await restart(smaller);
        expectNothingTwice(smaller, await expectTrains(smaller, next, random));
        expect(next.faults).toEqual([]);
      },
    ),
    { numRuns: 60 },
  );
});
