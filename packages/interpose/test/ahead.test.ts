import { Hierarchy, MemoryDriver, type StorageDriver } from '@tiered/core';
import { FaultDriver, HoldingDriver, ManualClock, settled, someBytes } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Ahead } from '../src/replay/ahead.js';
import { Distance } from '../src/replay/distance.js';
import { Plan } from '../src/replay/plan.js';
import { Room } from '../src/replay/room.js';
import { Uses, type Use } from '../src/replay/uses.js';
import { temporaryDirectory } from './helpers.js';

/** What file systems count by, so that everything comes out even. */
const BYTES = 4096;
const NAMES = Array.from({ length: 16 }, (_, i) => String(i).padStart(2, '0'));

interface World {
  readonly hierarchy: Hierarchy;
  readonly placement: PlacementHandler;
  readonly ahead: Ahead;
  readonly clock: ManualClock;
  /** A program opens an object: true if it finds a copy. */
  readonly open: (id: number) => boolean;
  readonly idle: () => Promise<void>;
  readonly isThere: (id: number) => boolean;
}

/** Objects of one size, a tier that holds so many of them, and what places ahead on it. */
async function world(
  order: readonly number[],
  options: { copies?: number; source?: StorageDriver; tier?: StorageDriver } = {},
): Promise<World> {
  const { copies = 8, source = await objects(), tier = new MemoryDriver() } = options;
  const clock = new ManualClock();
  const placement = new PlacementHandler({ chunk: BYTES });
  const hierarchy = await new Hierarchy({
    ...{ source, clock, placement, tiers: [{ driver: tier, quota: copies * BYTES }] },
  }).open();
  const { namespace } = hierarchy;
  const plan = await Plan.from(keysOf(order.map((id) => NAMES[id] ?? '')), namespace);
  const ahead = new Ahead({ hierarchy, placement, plan, clock });
  hierarchy.on('moved', ({ id, place }) => ahead.moved(id, place !== undefined));
  onTestFinished(async () => {
    await clock.run(ahead.close());
    await clock.run(hierarchy.close());
  });
  const isThere = (id: number) => namespace.directLevelOf(namespace.find(NAMES[id] ?? '')) === 0;
  const open = (id: number) => {
    const isCopy = isThere(id);
    ahead.opened(isCopy ? 'copy' : 'source', namespace.find(NAMES[id] ?? ''));
    return isCopy;
  };
  return { hierarchy, placement, ahead, clock, open, isThere, idle: () => clock.run(ahead.idle()) };
}

async function objects(): Promise<MemoryDriver> {
  const source = new MemoryDriver();
  for (const [i, name] of NAMES.entries()) await source.write(name, someBytes(BYTES, i), { size: BYTES });
  return source;
}

async function* keysOf(keys: readonly string[]): AsyncGenerator<string, void, undefined> {
  yield* keys;
}

/** Lets calls go until something is done. */
async function released(holding: HoldingDriver, work: Promise<void>): Promise<void> {
  let isDone = false;
  const done = work.finally(() => (isDone = true));
  while (!isDone) await holding.releaseAll();
  await done;
}

/** Lets everything happen that does not wait for a held call. */
async function quiet(): Promise<void> {
  for (let turns = 0; turns < 50; turns++) await settled();
}

/** The same order in each epoch. */
const inOrder = (epochs: number, count = NAMES.length) =>
  Array.from({ length: epochs * count }, (_, i) => i % count);

describe('placing ahead', () => {
  it('[I8] goes on where a program leaves out opens, and is always in time where it leaves out none', async () => {
    const epoch = fc.shuffledSubarray([...NAMES.keys()], { minLength: NAMES.length });
    const epochs = fc.array(epoch, { minLength: 4, maxLength: 4 });
    const skipped = fc.uniqueArray(fc.nat(NAMES.length - 1), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(epochs, skipped, async (all, left) => {
        const { ahead, open, idle } = await world(all.flat());
        ahead.begin();
        await idle();
        for (const [position, id] of all.flat().entries()) {
          if (left.includes(position)) continue;
          open(id);
          await idle();
        }
        // That an open is left out shows only at later ones.
        expect(ahead.counts.late).toBeLessThanOrEqual(4 * left.length);
      }),
      { numRuns: 40 },
    );
  });

  it('does not fetch what was opened before the fetch began, and leaves its room to others', async () => {
    const tier = new HoldingDriver(new MemoryDriver(), { operations: ['delete'] });
    const { ahead, open, idle, hierarchy, placement } = await world(inOrder(1, 10), { tier });
    ahead.begin();
    await idle();
    expect(hierarchy.stats().source.reads).toBe(8);
    for (let id = 0; id < 8; id++) open(id);
    await quiet();
    // For two objects at the same time.
    expect(tier.held.length).toBe(2);
    // The program is faster than the tier.
    expect([open(8), ahead.counts.late]).toEqual([false, 1]);
    await released(tier, idle());
    expect(hierarchy.stats().source.reads).toBe(9);
    expect(open(9)).toBe(true);
    expect(ahead.counts).toMatchObject({ placed: 9, evicted: 2 });
    expect(placement.freeBytes()).toEqual([BYTES]);
  });

  it('is no further ahead than it takes to open everything once, and brings back what has gone', async () => {
    const { ahead, open, idle, isThere, placement } = await world(inOrder(6), { copies: 20 });
    ahead.begin();
    await idle();
    await placement.evict('03');
    expect(isThere(3)).toBe(false);
    for (let position = 0; position < 2 * NAMES.length; position++) {
      const isCopy = open(position % NAMES.length);
      expect({ position, isCopy }).toEqual({ position, isCopy: position !== 3 });
      await idle();
    }
    expect(ahead.counts).toMatchObject({ placed: 17, evicted: 0, late: 1 });
  });

  it('uses the room of objects that could not be placed', async () => {
    const fault = { key: /02/, operations: ['read', 'readInto'], fault: { kind: 'fail' } } as const;
    const source = new FaultDriver(await objects(), { rules: [fault] });
    const { ahead, idle, isThere, open, hierarchy, clock } = await world(inOrder(2), { source });
    ahead.begin();
    await idle();
    await clock.run(hierarchy.idle());
    open(0);
    await idle();
    // None of the others has gone for it.
    expect([...NAMES.keys()].filter(isThere)).toEqual([0, 1, 3, 4, 5, 6, 7, 8]);
    expect(ahead.counts.evicted).toBe(0);
  });

  it('leaves copies of an earlier daemon that are not checked yet', async () => {
    const directory = temporaryDirectory();
    const tier = () => new FileSystemDriver({ root: directory, writable: true });
    const before = await new Hierarchy({
      source: await objects(),
      tiers: [{ driver: tier(), quota: 2 ** 22 }],
      placement: new PlacementHandler(),
    }).open();
    for (const name of NAMES) await before.place(name);
    await before.close();
    const { ahead, idle, hierarchy } = await world(inOrder(2), { tier: tier(), copies: 1024 });
    ahead.begin();
    await idle();
    expect(ahead.counts).toMatchObject({ evicted: 0, placed: 0 });
    expect(hierarchy.stats()).toMatchObject({ source: { reads: 0 }, placement: { evicted: 0 } });
  });
});

describe('the room', () => {
  it('is never further from the truth than what is on its way or going, and right when nothing is', () => {
    const step = fc.record({
      what: fc.constantFrom('take', 'grant', 'come', 'fail', 'give', 'free', 'gone', 'lose'),
      bytes: fc.integer({ min: 1, max: 100 }),
      /** What it really takes. */
      more: fc.integer({ min: -1, max: 1 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        let free = 1000;
        const coming: { bytes: number; real: number; isGranted: boolean }[] = [];
        const going: { bytes: number; real: number; isFree: boolean }[] = [];
        const room = new Room(() => free);
        for (const { what, bytes, more } of steps) {
          const next = coming.find(({ isGranted }) => !isGranted);
          const leaving = going.find(({ isFree }) => !isFree);
          if (what === 'take') {
            room.take(bytes);
            coming.push({ bytes, real: bytes + more, isGranted: false });
          } else if (what === 'grant' && next !== undefined) {
            free -= next.real;
            next.isGranted = true;
          } else if (what === 'come' && coming[0]?.isGranted === true) {
            room.taken(coming.shift()?.bytes ?? 0, true);
          } else if (what === 'fail' && coming.length > 0) {
            const one = coming.shift();
            if (one?.isGranted === true) free += one.real;
            room.taken(one?.bytes ?? 0, false);
          } else if (what === 'give') {
            room.give(bytes);
            going.push({ bytes, real: bytes + more, isFree: false });
          } else if (what === 'free' && leaving !== undefined) {
            free += leaving.real;
            leaving.isFree = true;
          } else if (what === 'gone' && going[0]?.isFree === true) {
            room.given(going.shift()?.bytes ?? 0, true);
          } else if (what === 'lose') free -= bytes;
          const sum = (all: readonly { bytes: number }[]) => all.reduce((total, one) => total + one.bytes, 0);
          const notGranted = sum(coming.filter(({ isGranted }) => !isGranted));
          const truth = free + sum(going.filter(({ isFree }) => !isFree)) - notGranted;
          expect(Math.abs(room.bytes - truth)).toBeLessThanOrEqual(sum(coming) + sum(going));
          if (coming.length + going.length === 0) expect(room.bytes).toBe(truth);
        }
      }),
    );
  });
});

describe('the uses', () => {
  it('keep no more of what was noted before than there are objects', () => {
    const uses = new Uses();
    let most = 0;
    for (let since = 0; since < 100_000; since++) {
      uses.note({ id: since % 10, next: since + 10, since });
      most = Math.max(most, uses.queued);
    }
    expect(most).toBeLessThanOrEqual(2 * uses.size + 1024);
  });

  it('choose the one of the best rank that is opened last', () => {
    const note = fc.record({ id: fc.nat(9), next: fc.nat(1000), since: fc.nat(1000) });
    const ranks = fc.array(fc.option(fc.nat(3), { nil: undefined }), { minLength: 10, maxLength: 10 });
    fc.assert(
      fc.property(fc.array(note), ranks, (notes, rankOf) => {
        const uses = new Uses();
        const latest = new Map<number, Use>();
        for (const one of notes) {
          uses.note(one);
          latest.set(one.id, one);
        }
        for (;;) {
          const use = uses.choose(({ id }) => rankOf[id]);
          const best = [...latest.values()]
            .map((one) => ({ next: one.next, rank: rankOf[one.id] ?? Infinity }))
            .filter(({ rank }) => rank < Infinity)
            .sort((a, b) => a.rank - b.rank || b.next - a.next)[0];
          expect(use && { next: use.next, rank: rankOf[use.id] }).toEqual(best);
          if (use === undefined) return;
          expect([uses.has(use.id), uses.release(use), uses.has(use.id)]).toEqual([true, true, false]);
          latest.delete(use.id);
        }
      }),
    );
  });

  it('let nothing go that was chosen, and is opened earlier than was thought', () => {
    const uses = new Uses();
    uses.note({ id: 1, next: 50, since: 0 });
    const chosen = uses.choose(() => 0);
    uses.note({ id: 1, next: 60, since: 50 });
    expect(chosen && uses.release(chosen)).toBe(false);
    expect(uses.choose(() => 0)).toEqual({ id: 1, next: 60, since: 50 });
  });
});

describe('the distance', () => {
  it('grows and shrinks by objects that were placed ahead and are opened for the first time', () => {
    const distance = new Distance(100);
    distance.opened(1, false);
    expect(distance.opens).toBe(0);
    for (const [id, opens] of [16, 32, 64, 100].entries()) {
      distance.begun(id);
      distance.opened(id, false);
      expect(distance.opens).toBe(opens);
    }
    distance.begun(4);
    distance.opened(4, true);
    expect(distance.opens).toBe(99);
    distance.begun(5);
    distance.gone(5);
    distance.opened(5, false);
    expect(distance.opens).toBe(99);
  });

  it('grows once for objects that were on their way at the same time', () => {
    const distance = new Distance(1000);
    for (let id = 0; id < 4; id++) distance.begun(id);
    distance.opened(0, false);
    distance.begun(4);
    for (let id = 1; id < 4; id++) distance.opened(id, false);
    expect(distance.opens).toBe(16);
    distance.opened(4, false);
    expect(distance.opens).toBe(32);
  });

  it('fades while nothing is placed ahead, so that it is tried again', () => {
    const distance = new Distance(100);
    distance.begun(0);
    distance.opened(0, false);
    for (let id = 1; id <= 10_000; id++) distance.opened(id, id % 2 === 0);
    expect(distance.opens).toBe(0);
  });
});
