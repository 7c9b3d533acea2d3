import { MemoryDriver } from '@tiered/core';
import {
  FaultDriver,
  type FaultRule,
  assertNothingHeld,
  HoldingDriver,
  IndexedMemoryDriver,
  ManualClock,
  settled,
  someBytes,
} from '@tiered/core/testing';
import { firstFit, lru, promoting } from '@tiered/tiering';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { Records } from '../src/index/thread/records.js';
import { memoryWith, objectsOf, startHierarchy, until } from './helpers.js';
import { expectSame, filesOn, fill, LOOK_MS, readAll, start } from './packed-tier.js';

/** Looks after which it was looked also for segments that are less than half full. */
const LOOKS = 25;

/** Turns of the event loop in which a look comes to its end, unless the machine is busy. */
const TURNS = 20;

const SIZE = 1000;
/** Copies begin at multiples of 16 bytes. */
const TAKES = 1008;

/** Lets time pass, and what begins by that end, until something is so. */
async function passUntil(
  clock: ManualClock,
  all: readonly Awaited<ReturnType<typeof start>>[],
  isSo: () => Promise<boolean> | boolean,
): Promise<void> {
  for (let looks = 0; !(await isSo()); looks++) {
    if (looks > 100_000) throw new Error('it never came to that');
    await clock.advance(LOOK_MS);
    // What a look asks of the index is answered by a thread.
    for (let turns = 0; turns < TURNS; turns++) await settled();
    for (const { hierarchy } of all) await clock.run(hierarchy.idle());
  }
}

/** Lets so much time pass that everything has been looked at. */
async function pass(clock: ManualClock, all: readonly Awaited<ReturnType<typeof start>>[]): Promise<void> {
  let left = 2 * LOOKS;
  await passUntil(clock, all, () => left-- === 0);
}

/** One segment of 20 copies, of which so many objects become others. */
async function withHoles(changed: number, options: { quota?: number; faulty?: FaultRule[] } = {}) {
  const objects = objectsOf(Array.from({ length: 20 }, () => SIZE));
  const storage = await memoryWith(objects);
  const inner = new IndexedMemoryDriver();
  const tier = new FaultDriver(inner, { rules: options.faulty ?? [] });
  const clock = new ManualClock();
  const { quota } = options;
  const one = await start(storage, tier, { clock, ...(quota && { quota, chunk: SIZE }) });
  const filling = fill(one.hierarchy, objects);
  await until(() => one.hierarchy.stats().placement.placed === 20);
  await filling;
  expect(await filesOn(inner)).toBe(1);
  const brought = one.brought();
  for (const [i, key] of [...objects.keys()].slice(0, changed).entries()) {
    const bytes = someBytes(SIZE, 100 + i);
    objects.set(key, bytes);
    await storage.write(key, bytes, { size: SIZE });
  }
  await one.hierarchy.rescan();
  await one.hierarchy.idle();
  return { ...one, objects, storage, inner, clock, one, broughtSince: () => one.brought() - brought };
}

describe('a packed tier whose policy lets copies go', () => {
  it.each([
    ['lru', lru],
    ['promoting', promoting(lru)],
  ] as const)(
    '[R1] [Q1] never holds more than its quota, and is never much less than full (%s)',
    async (_, policy) => {
      const quota = 2 ** 20;
      const objects = objectsOf(Array.from({ length: 300 }, (_one, i) => 5000 + i));
      const tier = new IndexedMemoryDriver();
      const { hierarchy, faults, dropped } = await start(await memoryWith(objects), tier, {
        quota,
        policy,
        chunk: 2 ** 16,
      });
      const all = [...objects];
      for (let round = 0; round < 50; round++) {
        await fill(hierarchy, new Map(all.slice((10 * round) % 300, ((10 * round) % 300) + 10)));
        const { bytes } = await tier.usage({});
        expect(bytes).toBeLessThanOrEqual(quota);
        expect(bytes).toBe(hierarchy.stats().tiers[0]?.usedBytes);
        // Room for a segment, and what one frees beyond that.
        if (round > 30) expect(bytes).toBeGreaterThan(0.7 * quota);
      }
      const { evicted, failed } = hierarchy.stats().placement;
      expect([evicted > 200, failed, faults]).toEqual([true, 0, []]);
      expect(dropped.every((what) => what.endsWith('evicted'))).toBe(true);
      await hierarchy.close();
      assertNothingHeld(hierarchy.stats());
    },
  );

  it('keeps what is read all the time, though what came with it leaves', async () => {
    const hot = objectsOf(Array.from({ length: 8 }, () => SIZE));
    const rest = new Map(
      [...objectsOf(Array.from({ length: 400 }, () => 4 * SIZE))].map(([key, bytes]) => [`x${key}`, bytes]),
    );
    const tier = new IndexedMemoryDriver();
    const storage = await memoryWith(new Map([...hot, ...rest]));
    const { hierarchy, dropped } = await start(storage, tier, {
      quota: 2 ** 19,
      policy: lru,
      chunk: 2 ** 16,
    });
    const all = [...rest];
    for (let round = 0; round < 50; round++) {
      await fill(hierarchy, new Map([...hot, ...all.slice(8 * round, 8 * round + 8)]));
      for (const [key, bytes] of hot) expectSame(await hierarchy.read(key), bytes);
    }
    expect(dropped.length).toBeGreaterThan(200);
    expect(dropped.filter((what) => !what.startsWith('x'))).toEqual([]);
    await hierarchy.close();
  });

  it('lets go also of large copies beside segments, and of segments that were there before it', async () => {
    const tier = new IndexedMemoryDriver();
    const objects = objectsOf(Array.from({ length: 120 }, (_, i) => (i % 6 === 0 ? 100_000 : 9000)));
    const storage = await memoryWith(objects);
    const options = { quota: 2 ** 20, policy: lru, chunk: 2 ** 17 };
    for (let life = 0; life < 2; life++) {
      const { hierarchy, faults } = await start(storage, tier, options);
      const some = [...objects].slice(40 * life, 40 * life + 80);
      for (let at = 0; at < some.length; at += 4) {
        await fill(hierarchy, new Map(some.slice(at, at + 4)));
        expect((await tier.usage({})).bytes).toBeLessThanOrEqual(options.quota);
      }
      expect(faults).toEqual([]);
      expect(hierarchy.stats().placement.evicted).toBeGreaterThan(10);
      await hierarchy.close();
    }
  });

  it('[Q1] keeps what was moved up to memory, and lets it go below as well when its segment leaves', async () => {
    const objects = objectsOf(Array.from({ length: 100 }, () => SIZE));
    const disk = new IndexedMemoryDriver();
    const quota = 40 * TAKES;
    const tiers = [
      { driver: new MemoryDriver(), quota: 10 * SIZE },
      { driver: disk, quota, layout: 'packed' as const },
    ];
    const options = { chunk: SIZE, policy: promoting(lru) };
    const hierarchy = await startHierarchy(await memoryWith(objects), tiers, options);
    for (let epoch = 0; epoch < 4; epoch++)
      for (const [key, bytes] of objects) {
        expectSame(await hierarchy.read(key), bytes);
        expectSame(await hierarchy.read(key), bytes);
        if (Number(key) % 7 === 0) await hierarchy.idle();
        expect((await disk.usage({})).bytes).toBeLessThanOrEqual(quota);
      }
    await hierarchy.idle();
    expect(hierarchy.stats().placement.evicted).toBeGreaterThan(100);
    await hierarchy.close();
    assertNothingHeld(hierarchy.stats());
  });
});

describe('a segment that is less than half full', () => {
  it('[F2] [T1] [Q1] is rewritten, and nothing is fetched again for that', async () => {
    const { hierarchy, objects, inner, clock, one, storage, broughtSince } = await withHoles(15);
    await passUntil(clock, [one], async () => (await inner.usage({})).bytes === 4 * TAKES + SIZE);
    expect(await filesOn(inner)).toBe(1);
    expect(hierarchy.stats().tiers[0]).toMatchObject({ usedBytes: 4 * TAKES + SIZE, reservedBytes: 0 });
    expect(broughtSince()).toBe(0);
    const stayed = new Map([...objects].slice(15));
    await readAll(hierarchy, stayed);
    expect([broughtSince(), one.faults]).toEqual([0, []]);
    await hierarchy.close();
    assertNothingHeld(hierarchy.stats());
    const next = await start(storage, inner);
    await readAll(next.hierarchy, stayed);
    expect([next.brought(), next.faults, next.dropped]).toEqual([0, [], []]);
    await readAll(next.hierarchy, objects);
    await next.hierarchy.close();
  });

  it('is not touched while it is half full', async () => {
    const { hierarchy, inner, clock, one } = await withHoles(10);
    const [before] = await namesOn(inner);
    await pass(clock, [one]);
    expect(await namesOn(inner)).toEqual([before]);
    await hierarchy.close();
  });

  it('[Q1] stays as it is where there is no room to rewrite it', async () => {
    const { hierarchy, inner, clock, one, objects } = await withHoles(15, { quota: 22 * TAKES });
    const [before] = await namesOn(inner);
    await pass(clock, [one]);
    expect(await namesOn(inner)).toEqual([before]);
    for (const [key, bytes] of objects) expectSame(await hierarchy.read(key), bytes);
    await hierarchy.idle();
    expect((await inner.usage({})).bytes).toBeLessThanOrEqual(22 * TAKES);
    await hierarchy.close();
    assertNothingHeld(hierarchy.stats());
  });

  it.each<FaultRule['fault']>([
    { kind: 'fail' },
    { kind: 'fail-after' },
    { kind: 'fail', code: 'TIERED_NO_SPACE', retryable: false },
  ])('[R2] [A1] [Q1] stays as it is if that cannot be written (%o), and is tried again', async (fault) => {
    const faulty: FaultRule[] = [{ operations: ['write'], nth: 2, fault }];
    const { hierarchy, inner, clock, one, objects, broughtSince } = await withHoles(15, { faulty });
    await passUntil(clock, [one], async () => (await inner.usage({})).bytes === 4 * TAKES + SIZE);
    const stayed = new Map([...objects].slice(15));
    await readAll(hierarchy, stayed);
    expect(broughtSince()).toBe(0);
    expect(one.faults.length).toBeLessThanOrEqual(1);
    await readAll(hierarchy, objects);
    await hierarchy.close();
    assertNothingHeld(hierarchy.stats());
  });

  it('[T2] [R1] gives nothing that is damaged: that is fetched anew', async () => {
    const { hierarchy, inner, clock, one, objects, broughtSince } = await withHoles(15);
    const [name = ''] = await namesOn(inner);
    const segment = Uint8Array.from(await inner.read(name, { offset: 0, length: 20 * TAKES }));
    const last = objects.get('19') ?? new Uint8Array();
    const at = Buffer.from(segment).indexOf(last.subarray(0, 100));
    segment[at] = (segment[at] ?? 0) ^ 1;
    await inner.write(name, segment, { size: segment.byteLength });
    await passUntil(clock, [one], async () => (await inner.usage({})).bytes <= 4 * TAKES);
    expect(one.dropped.slice(15)).toEqual(['19 damaged']);
    expect(one.faults).toEqual(['read']);
    await readAll(hierarchy, new Map([...objects].slice(15)));
    expect(broughtSince()).toBe(SIZE);
    await hierarchy.close();
  });

  it('[V1] [Q1] that is rewritten just as an object in it becomes another one does not keep that', async () => {
    const objects = objectsOf(Array.from({ length: 20 }, () => SIZE));
    const storage = await memoryWith(objects);
    const inner = new IndexedMemoryDriver();
    const tier = new HoldingDriver(inner, { operations: ['write'] });
    const clock = new ManualClock();
    const one = await start(storage, tier, { clock });
    let isFilled = false;
    const filling = fill(one.hierarchy, objects).finally(() => (isFilled = true));
    while (!isFilled) {
      await until(() => isFilled || tier.held.length > 0);
      await tier.releaseAll();
    }
    await filling;
    const change = async (keys: readonly string[], seed: number) => {
      for (const key of keys) {
        objects.set(key, someBytes(SIZE, seed + Number(key)));
        await storage.write(key, someBytes(SIZE, seed + Number(key)), { size: SIZE });
      }
      await one.hierarchy.rescan();
    };
    const keys = [...objects.keys()];
    await change(keys.slice(0, 15), 100);
    while (tier.held.length === 0) await clock.advance(LOOK_MS);
    await change(keys.slice(15, 17), 200);
    await tier.releaseAll();
    await one.hierarchy.idle();
    expect((await inner.usage({})).bytes).toBeLessThanOrEqual(4 * TAKES + SIZE);
    const { placed } = copiesOn(inner);
    expect(placed.sort()).toEqual(['17', '18', '19']);
    expect((await one.hierarchy.stat('15')).level).toBe(1);
    expect((await one.hierarchy.stat('17')).level).toBe(0);
    const reading = readAll(one.hierarchy, objects);
    let isRead = false;
    void reading.finally(() => (isRead = true));
    while (!isRead) {
      await until(() => isRead || tier.held.length > 0);
      await tier.releaseAll();
      await clock.advance(LOOK_MS);
    }
    await reading;
    const closing = one.hierarchy.close();
    let isClosed = false;
    void closing.finally(() => (isClosed = true));
    while (!isClosed) {
      await until(() => isClosed || tier.held.length > 0);
      await tier.releaseAll();
    }
    assertNothingHeld(one.hierarchy.stats());
  });

  it('[T3] that one process rewrites serves the others until they know, and goes then', async () => {
    const { inner, clock, one, objects, storage } = await withHoles(15);
    const other = await start(storage, inner, { clock });
    const stayed = new Map([...objects].slice(15));
    await readAll(other.hierarchy, stayed);
    const [before = ''] = await namesOn(inner);
    await passUntil(clock, [one], async () => !(await namesOn(inner)).includes(before));
    // Time flies here, so an index may seem held up for a moment. It is not asked then, and what is read is
    // placed anew.
    for (const { hierarchy, brought } of [one, other]) {
      await passUntil(clock, [one, other], async () => {
        const before = brought();
        await readAll(hierarchy, stayed);
        return brought() === before;
      });
    }
    expect([other.faults, one.faults, other.dropped, one.dropped.slice(15)]).toEqual([[], [], [], []]);
    const placedIn = ({ hierarchy }: typeof one) => hierarchy.stats().placement.placed;
    const anew = placedIn(one) - 20 + placedIn(other);
    const most = 4 * TAKES + SIZE + anew * TAKES;
    await passUntil(clock, [one, other], async () => (await inner.usage({})).bytes <= most);
    for (const { hierarchy } of [one, other]) await clock.run(hierarchy.close());
  });

  it('[T3] [T4] of a process that is gone is rewritten by the next one', async () => {
    const { inner, objects, storage } = await withHoles(15);
    await inner.openIndex({});
    inner.killOthers();
    const clock = new ManualClock();
    const next = await start(storage, inner, { clock, policy: firstFit });
    await passUntil(clock, [next], async () => (await inner.usage({})).bytes === 4 * TAKES + SIZE);
    await readAll(next.hierarchy, new Map([...objects].slice(15)));
    expect(next.brought()).toBe(0);
    await next.hierarchy.close();
  });
});

/** The keys of what the index says is placed. */
function copiesOn({ directory }: IndexedMemoryDriver): { placed: string[] } {
  const records = new Records({ path: path.join(directory, 'index.db'), durable: false, logPages: 128 });
  const options = { dataset: 0, others: true, limit: 1000, after: { key: '', dataset: 1, tag: 0 } };
  const placed = records.page(options).map(({ key }) => key);
  records.close();
  return { placed };
}

async function namesOn(tier: IndexedMemoryDriver): Promise<string[]> {
  const names: string[] = [];
  for await (const page of tier.list({})) names.push(...page.map(({ key }) => key));
  return names;
}
