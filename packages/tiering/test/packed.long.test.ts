import { Hierarchy, MemoryDriver } from '@tiered/core';
import {
  FaultDriver,
  type FaultRule,
  assertNothingHeld,
  HoldingDriver,
  IndexedMemoryDriver,
  ManualClock,
  someBytes,
} from '@tiered/core/testing';
import { PlacementHandler } from '@tiered/tiering';
import { describe, expect, it } from 'vitest';
import { memoryWith, objectsOf, until } from './helpers.js';
import {
  CHUNK,
  expectSame,
  filesOn,
  fill,
  LOOK_MS,
  QUIET_MS,
  readAll,
  sizesOf,
  start,
} from './packed-tier.js';

describe('a packed tier', () => {
  it('[R1] [F1] [T1] [T2] holds many copies in few files, serves them, and so does the next process', async () => {
    const objects = objectsOf(sizesOf(100));
    const storage = await memoryWith(objects);
    const tier = new IndexedMemoryDriver();
    const bytes = (await storage.usage({})).bytes;
    const first = await start(storage, tier);
    await fill(first.hierarchy, objects);
    expect(await filesOn(tier)).toBeLessThan(10);
    expect(first.hierarchy.stats().placement).toMatchObject({ placed: 100, failed: 0 });
    await readAll(first.hierarchy, objects);
    expect(first.brought()).toBe(bytes);
    await first.hierarchy.close();
    assertNothingHeld(first.hierarchy.stats());
    const second = await start(storage, tier);
    await readAll(second.hierarchy, objects);
    await readAll(second.hierarchy, objects);
    expect(second.hierarchy.stats().placement).toMatchObject({ adopted: 100, damaged: 0, outdated: 0 });
    expect([second.brought(), second.dropped, second.faults]).toEqual([0, [], []]);
    await second.hierarchy.close();
  });

  it('[T1] keeps what is there when its layout changes, to and fro', async () => {
    const objects = objectsOf(sizesOf(40));
    const storage = await memoryWith(objects);
    const tier = new IndexedMemoryDriver();
    const some = new Map([...objects].slice(0, 20));
    const first = await start(storage, tier, { layout: 'files' });
    await fill(first.hierarchy, some);
    expect(await filesOn(tier)).toBe(20);
    await first.hierarchy.close();
    const second = await start(storage, tier);
    await fill(second.hierarchy, objects);
    expect(await filesOn(tier)).toBeLessThan(30);
    await second.hierarchy.close();
    const third = await start(storage, tier, { layout: 'files' });
    await readAll(third.hierarchy, objects);
    expect(third.brought()).toBe(0);
    await third.hierarchy.close();
  });

  it('objects of several chunks, and of more than 256 KiB, have files of their own', async () => {
    const objects = objectsOf([300_000, CHUNK + 1, 10, 20, 256 * 1024]);
    const tier = new IndexedMemoryDriver();
    const { hierarchy } = await start(await memoryWith(objects), tier);
    await fill(hierarchy, objects);
    const sizes: number[] = [];
    for await (const page of tier.list({})) sizes.push(...page.map(({ size }) => size));
    expect(sizes.filter((size) => size >= 300_000).sort()).toEqual([CHUNK + 1, 300_000]);
    for (const [key, bytes] of objects) expectSame(await hierarchy.read(key), bytes);
    await hierarchy.close();
  });

  it('[F3] writes what is gathered when nothing comes for a moment, and serves it from memory until then', async () => {
    const objects = objectsOf([100, 200]);
    const clock = new ManualClock();
    const source = await memoryWith(objects);
    const { hierarchy, brought } = await start(source, new IndexedMemoryDriver(), { clock });
    for (const [key, bytes] of objects) expectSame(await hierarchy.read(key), bytes);
    expect((await hierarchy.stat('0')).level).toBe(1);
    for (const [key, bytes] of objects) expectSame(await hierarchy.read(key), bytes);
    await clock.advance(QUIET_MS);
    await until(() => hierarchy.stats().placement.placed === 2);
    for (const [key, bytes] of objects) expectSame(await hierarchy.read(key), bytes);
    expect(brought()).toBe(300);
    await hierarchy.close();
    expect(clock.sleepingInBackground).toBe(0);
  });

  it('[C1] [T1] close writes what was gathered', async () => {
    const objects = objectsOf([100, 200]);
    const storage = await memoryWith(objects);
    const tier = new IndexedMemoryDriver();
    const clock = new ManualClock();
    const first = await start(storage, tier, { clock });
    for (const key of objects.keys()) await first.hierarchy.read(key);
    // Until both are gathered.
    for (let turns = 0; turns < 20; turns++) await clock.turn();
    await first.hierarchy.close();
    assertNothingHeld(first.hierarchy.stats());
    const second = await start(storage, tier, { clock });
    await readAll(second.hierarchy, objects);
    expect(second.brought()).toBe(0);
    await second.hierarchy.close();
  });

  it('[F1] a segment that is full is written, whatever is still to come', async () => {
    const objects = objectsOf(Array.from({ length: 30 }, () => 200_000));
    const clock = new ManualClock();
    const { hierarchy } = await start(await memoryWith(objects), new IndexedMemoryDriver(), { clock });
    await Promise.all([...objects.keys()].map((key) => hierarchy.read(key)));
    await until(() => hierarchy.stats().placement.placed >= 20);
    expect(hierarchy.stats().placement.placed).toBeLessThan(30);
    await hierarchy.close();
  });

  it('[F1] [P1] memory that is full of what is gathered is free as soon as somebody waits for it', async () => {
    const objects = objectsOf(Array.from({ length: 50 }, () => 1000));
    const clock = new ManualClock();
    const options = { clock, memory: 20_000, chunk: 1000 };
    const { hierarchy, brought } = await start(await memoryWith(objects), new IndexedMemoryDriver(), options);
    await Promise.all([...objects].map(async ([key, bytes]) => expectSame(await hierarchy.read(key), bytes)));
    await hierarchy.idle();
    expect(brought()).toBe(50_000);
    expect(hierarchy.stats().placement).toMatchObject({ placed: 50, behind: 0 });
    await hierarchy.close();
  });

  it('[Q1] never holds more than its quota, and a smaller one lets whole segments go', async () => {
    const objects = objectsOf(Array.from({ length: 60 }, () => 1000));
    const storage = await memoryWith(objects);
    const tier = new IndexedMemoryDriver();
    const first = await start(storage, tier, { quota: 50_000, chunk: 1000 });
    for (let round = 0; round < 6; round++) {
      await fill(first.hierarchy, new Map([...objects].slice(10 * round, 10 * round + 10)));
      expect((await tier.usage({})).bytes).toBeLessThanOrEqual(50_000);
    }
    const { placed } = first.hierarchy.stats().placement;
    expect(placed).toBeGreaterThan(40);
    await first.hierarchy.close();
    const second = await start(storage, tier, { quota: 25_000, chunk: 1000 });
    await second.hierarchy.idle();
    const { bytes } = await tier.usage({});
    expect(bytes).toBeLessThanOrEqual(25_000);
    // Segments of some ten copies each: what remains is not less than one short of the quota.
    expect(bytes).toBeGreaterThan(10_000);
    expect(second.dropped.every((what) => what.endsWith('evicted'))).toBe(true);
    expect(second.dropped.length).toBeLessThan(placed);
    for (const [key, content] of objects) expectSame(await second.hierarchy.read(key), content);
    await second.hierarchy.close();
  });

  it('[V1] [Q1] copies of other versions leave one by one, and their segment with the last of them', async () => {
    const objects = objectsOf([500, 600, 700]);
    const storage = await memoryWith(objects);
    const tier = new IndexedMemoryDriver();
    const { hierarchy } = await start(storage, tier);
    await fill(hierarchy, objects);
    expect(await filesOn(tier)).toBe(1);
    const segmentBytes = hierarchy.stats().tiers[0]?.usedBytes ?? 0;
    for (const [i, key] of [...objects.keys()].entries()) {
      const bytes = someBytes(800, 100 + i);
      objects.set(key, bytes);
      await storage.write(key, bytes, { size: 800 });
      await hierarchy.rescan();
      await hierarchy.idle();
      for (const [one, content] of objects) expectSame(await hierarchy.read(one), content);
      await hierarchy.idle();
    }
    expect(await filesOn(tier)).toBe(3);
    expect(hierarchy.stats().tiers[0]).toMatchObject({ usedBytes: 2400, reservedBytes: 0 });
    expect(segmentBytes).toBeGreaterThanOrEqual(1800);
    await hierarchy.close();
  });

  it('[T2] a damaged copy is dropped, and those beside it stay', async () => {
    const objects = objectsOf(Array.from({ length: 10 }, () => 160));
    const storage = await memoryWith(objects);
    const tier = new IndexedMemoryDriver();
    const first = await start(storage, tier);
    await fill(first.hierarchy, objects);
    await first.hierarchy.close();
    for await (const page of tier.list({}))
      for (const { key, size } of page) {
        const bytes = Uint8Array.from(await tier.read(key, { offset: 0, length: size }));
        bytes[5] = (bytes[5] ?? 0) ^ 1;
        await tier.write(key, bytes, { size });
      }
    const segments = await filesOn(tier);
    const second = await start(storage, tier);
    for (const [key, bytes] of objects) expectSame(await second.hierarchy.read(key), bytes);
    await second.hierarchy.idle();
    expect(second.dropped).toHaveLength(segments);
    // Perhaps once for its reader and, as its old copy was still being removed, once for the tier.
    expect(second.brought()).toBeLessThanOrEqual(320 * segments);
    for (const [key, bytes] of objects) expectSame(await second.hierarchy.read(key), bytes);
    await second.hierarchy.close();
  });

  it.each<FaultRule['fault']>([
    { kind: 'fail' },
    { kind: 'fail-after' },
    { kind: 'fail', code: 'TIERED_NO_SPACE', retryable: false },
  ])(
    '[R2] [A1] [Q1] a segment that cannot be written (%o) fails no read, and leaves nothing',
    async (fault) => {
      const objects = objectsOf([100, 200, 300]);
      const inner = new IndexedMemoryDriver();
      const tier = new FaultDriver(inner, { rules: [{ operations: ['write'], nth: 1, fault }] });
      const clock = new ManualClock();
      const { hierarchy, faults } = await start(await memoryWith(objects), tier, { clock });
      for (const [key, bytes] of objects) expectSame(await hierarchy.read(key), bytes);
      for (let turns = 0; turns < 20; turns++) await clock.turn();
      await hierarchy.idle();
      expect(await inner.usage({})).toMatchObject({ bytes: 0, objects: 0 });
      expect(hierarchy.stats().tiers[0]).toMatchObject({ usedBytes: 0, reservedBytes: 0 });
      expect(hierarchy.stats().placement).toMatchObject({ placed: 0, failed: 3 });
      // One fault, however many copies were in it.
      expect(faults.filter((operation) => operation === 'write').length).toBeLessThanOrEqual(1);
      await fill(hierarchy, objects);
      expect(hierarchy.stats().placement.placed).toBe('code' in fault ? 0 : 3);
      await hierarchy.close();
      assertNothingHeld(hierarchy.stats());
    },
  );

  it('is refused where the driver keeps no index', () => {
    const tiers = [{ driver: new MemoryDriver(), quota: '1MiB', layout: 'packed' as const }];
    expect(
      () => new Hierarchy({ source: new MemoryDriver(), tiers, placement: new PlacementHandler() }),
    ).toThrow(/tiers\[0\]\.layout: expected "files", or a driver that keeps an index/);
  });
});

describe('a packed tier that several processes use', () => {
  it('[T3] each serves the segments of the others, and one goes once all have let go of it', async () => {
    const objects = objectsOf([500, 600]);
    const storage = await memoryWith(objects);
    const tier = new IndexedMemoryDriver();
    const clock = new ManualClock();
    const a = await start(storage, tier, { clock });
    const b = await start(storage, tier, { clock });
    await fill(a.hierarchy, objects);
    await clock.advance(LOOK_MS);
    for (const [key, bytes] of objects) expectSame(await b.hierarchy.read(key), bytes);
    expect(b.brought()).toBe(0);
    for (const key of objects.keys()) {
      objects.set(key, someBytes(400, 9));
      await storage.write(key, someBytes(400, 9), { size: 400 });
    }
    await a.hierarchy.rescan();
    await a.hierarchy.idle();
    // The other one serves them still.
    expect(await filesOn(tier)).toBe(1);
    while ((await filesOn(tier)) > 0) {
      await clock.advance(LOOK_MS);
      for (const { hierarchy } of [a, b]) await hierarchy.idle();
    }
    expect([...a.faults, ...b.faults]).toEqual([]);
    for (const { hierarchy } of [a, b]) await hierarchy.close();
  });

  it('[T4] what a process that is gone had published and half recorded is whole, and what it had not is deleted', async () => {
    const objects = objectsOf([500, 600]);
    const storage = await memoryWith(objects);
    const inner = new IndexedMemoryDriver();
    const tier = new HoldingDriver(inner, { operations: ['write'] });
    const dead = await start(storage, tier);
    const reads = [...objects.keys()].map((key) => dead.hierarchy.read(key));
    await Promise.all(reads);
    void dead.hierarchy.idle();
    await until(() => tier.held.length === 1);
    // It never goes on: its claim is recorded, and its file is not there, or is just about to be.
    await inner.openIndex({});
    inner.killOthers();
    const next = await start(storage, inner);
    await readAll(next.hierarchy, objects);
    await next.hierarchy.idle();
    expect(next.hierarchy.stats().tiers[0]).toMatchObject({ reservedBytes: 0 });
    await next.hierarchy.close();
    await tier.releaseAll();
    await dead.hierarchy.close();
  });
});
