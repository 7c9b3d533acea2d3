import { Hierarchy, MemoryDriver, Random, type TierOptions } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { assertNothingHeld, someBytes } from '@tiered/core/testing';
import { firstFit, lru, PlacementHandler, promoting, type PlacementPolicy } from '@tiered/tiering';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoryWith, objectsOf, readEpoch, startHierarchy } from './helpers.js';

/** Reads every object once, and lets what that began come to its end. */
async function epoch(...reading: Parameters<typeof readEpoch>): Promise<void> {
  await readEpoch(...reading);
  await reading[0].idle();
}

describe('source traffic', () => {
  it('[F2] is E x S - (E - 1) x D bytes over E epochs, to within a chunk for each tier and later epoch', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          sizes: fc.array(fc.nat(600), { minLength: 1, maxLength: 15 }),
          quotas: fc.array(fc.integer({ min: 100, max: 3000 }), { minLength: 1, maxLength: 3 }),
          chunk: fc.integer({ min: 1, max: 100 }),
          piece: fc.integer({ min: 20, max: 1000 }),
          readers: fc.integer({ min: 1, max: 4 }),
          seed: fc.nat(),
        }),
        async ({ sizes, quotas, chunk, piece, readers, seed }) => {
          const objects = objectsOf(sizes);
          const source = new MetricsDriver(await memoryWith(objects));
          const tiers = quotas.map((quota) => ({ driver: new MemoryDriver(), quota }));
          const hierarchy = await startHierarchy(source, tiers, { chunk });
          const random = new Random(seed);
          const epochs = 3;
          for (let e = 0; e < epochs; e++) await epoch(hierarchy, objects, { random, piece, readers });
          const total = sizes.reduce((sum, size) => sum + size, 0);
          const room = Math.min(
            total,
            quotas.reduce((sum, quota) => sum + quota, 0),
          );
          const optimum = epochs * total - (epochs - 1) * room;
          const { bytes = 0 } = source.metrics().operations.readInto ?? {};
          expect(bytes).toBeGreaterThanOrEqual(optimum);
          // An object lives on one tier: where all that is left over are objects that have their beginning on
          // a tier, other tiers may have room that nothing can take.
          const keys = [...objects].filter(([, { byteLength }]) => byteLength > 0).map(([key]) => key);
          const levels = keys.map(async (key) => (await hierarchy.stat(key)).level);
          const leftOver = (await Promise.all(levels)).includes(quotas.length);
          if (leftOver || quotas.length === 1) {
            expect(bytes).toBeLessThanOrEqual(optimum + (epochs - 1) * quotas.length * chunk);
          }
          const { tiers: held } = hierarchy.stats();
          for (const [level, tier] of tiers.entries()) {
            const { bytes: onTier } = await tier.driver.usage({});
            expect(onTier).toBe(held[level]?.usedBytes);
            expect(onTier).toBeLessThanOrEqual(tier.quota);
          }
          await hierarchy.close();
          assertNothingHeld(hierarchy.stats());
        },
      ),
      { numRuns: 60 },
    );
  });

  it('[F1] costs at most one request a chunk in the first epoch', async () => {
    const sizes = [950, 100, 99, 101, 1];
    const source = new MetricsDriver(await memoryWith(objectsOf(sizes)));
    const hierarchy = await startHierarchy(source, [{ driver: new MemoryDriver(), quota: 2000 }], {
      chunk: 100,
    });
    await epoch(hierarchy, objectsOf(sizes), { random: new Random(1), piece: 30, readers: 3 });
    expect(source.metrics().operations.readInto).toMatchObject({ count: 10 + 1 + 1 + 2 + 1, bytes: 1251 });
    await hierarchy.close();
  });

  it('[F2] a partial copy serves its part, the source the rest, also to one read of both', async () => {
    const objects = objectsOf([1000]);
    const source = new MetricsDriver(await memoryWith(objects));
    const hierarchy = await startHierarchy(source, [{ driver: new MemoryDriver(), quota: 450 }], {
      chunk: 100,
    });
    expect(await hierarchy.place('0')).toBe(0);
    const brought = () => source.metrics().operations.readInto?.bytes ?? 0;
    expect(brought()).toBe(450);
    const read = async (offset: number, length: number) => {
      const before = brought();
      const bytes = await hierarchy.read('0', { offset, length });
      expect(bytes).toEqual(objects.get('0')?.subarray(offset, offset + length));
      const into = new Uint8Array(length);
      expect(await hierarchy.readInto('0', into, { offset })).toBe(bytes.byteLength);
      expect(into).toEqual(bytes);
      return (brought() - before) / 2;
    };
    expect(await read(0, 450)).toBe(0);
    expect(await read(440, 10)).toBe(0);
    expect(await read(440, 20)).toBe(10);
    expect(await read(450, 100)).toBe(100);
    expect(await read(0, 1000)).toBe(550);
    await hierarchy.close();
  });
});

describe('policies over epochs', () => {
  const COUNT = 400;
  const SIZE = 10;

  async function hitRates(policy: PlacementPolicy, shuffled: boolean): Promise<number> {
    const objects = objectsOf(Array.from({ length: COUNT }, () => SIZE));
    const tier: TierOptions = { driver: new MemoryDriver(), quota: (COUNT * SIZE) / 2 };
    const hierarchy = await startHierarchy(await memoryWith(objects), [tier], { policy });
    const random = new Random(7);
    let reads = 0;
    const epochs = 6;
    for (let e = 0; e < epochs; e++) {
      const before = hierarchy.stats().tiers[0]?.reads ?? 0;
      for (const i of shuffled ? random.permutation(COUNT) : Array.from({ length: COUNT }, (_, j) => j)) {
        await hierarchy.read(String(i));
        await hierarchy.idle();
      }
      if (e > 0) reads += (hierarchy.stats().tiers[0]?.reads ?? 0) - before;
    }
    await hierarchy.close();
    return reads / ((epochs - 1) * COUNT);
  }

  it('lru thrashes on epochs: half of the data on a tier serves 15 % of shuffled reads, and none of repeated ones', async () => {
    expect(await hitRates(firstFit, true)).toBe(0.5);
    expect(await hitRates(firstFit, false)).toBe(0.5);
    const fraction = 0.5;
    const expected = fraction + (1 - fraction) * Math.log(1 - fraction);
    expect(expected).toBeCloseTo(0.153, 3);
    expect(Math.abs((await hitRates(lru, true)) - expected)).toBeLessThan(0.03);
    expect(await hitRates(lru, false)).toBe(0);
  });

  it('lru keeps what is read often, and the tier within its quota', async () => {
    const objects = objectsOf(Array.from({ length: 50 }, () => SIZE));
    const driver = new MemoryDriver();
    const hierarchy = await startHierarchy(await memoryWith(objects), [{ driver, quota: 100 }], {
      policy: lru,
    });
    const random = new Random(3);
    for (let i = 0; i < 500; i++) {
      const key = String(i % 2 === 0 ? random.below(4) : random.below(50));
      expect(await hierarchy.read(key)).toEqual(objects.get(key));
      await hierarchy.idle();
      expect((await driver.usage({})).bytes).toBeLessThanOrEqual(100);
    }
    const hot = await Promise.all(['0', '1', '2', '3'].map(async (key) => (await hierarchy.stat(key)).level));
    expect(hot.filter((level) => level === 0).length).toBeGreaterThanOrEqual(3);
    expect(hierarchy.stats().placement.evicted).toBeGreaterThan(100);
    await hierarchy.close();
    assertNothingHeld(hierarchy.stats());
  });

  it('promotion copies what is read to a faster tier that has room', async () => {
    const objects = objectsOf([100, 100, 100]);
    const [fast, slow] = [new MemoryDriver(), new MemoryDriver()];
    const source = new MetricsDriver(await memoryWith(objects));
    const tiers = [
      { driver: fast, quota: 250 },
      { driver: slow, quota: 1000 },
    ];
    const onlySlow: PlacementPolicy = { name: 'slow', place: () => 1 };
    const hierarchy = new Hierarchy({
      source,
      tiers,
      placement: new PlacementHandler({ policy: promoting(onlySlow), chunk: 40 }),
    });
    const promoted: string[] = [];
    hierarchy.on('placed', ({ key, level }) => promoted.push(`${key} on ${level}`));
    await hierarchy.open();
    for (const key of objects.keys()) expect(await hierarchy.place(key)).toBe(1);
    for (const key of objects.keys()) {
      expect(await hierarchy.read(key)).toEqual(objects.get(key));
      await hierarchy.idle();
    }
    expect(promoted.slice(3)).toEqual(['0 on 0', '1 on 0']);
    expect((await fast.usage({})).bytes).toBe(200);
    // RAM is gone with the process: what outlives it stays.
    expect((await slow.usage({})).bytes).toBe(300);
    for (const key of objects.keys()) expect(await hierarchy.read(key)).toEqual(objects.get(key));
    expect(hierarchy.stats()).toMatchObject({
      tiers: [
        { usedBytes: 200, reservedBytes: 0 },
        { usedBytes: 300, reservedBytes: 0 },
      ],
      placement: { promoted: 2, placed: 3 },
    });
    expect(source.metrics().operations.readInto?.bytes).toBe(300);
    await hierarchy.close();
  });

  it('promotion is off unless a policy asks for it', async () => {
    const tiers = [
      { driver: new MemoryDriver(), quota: 1000 },
      { driver: new MemoryDriver(), quota: 1000 },
    ];
    const policy: PlacementPolicy = { name: 'slow', place: () => 1 };
    const hierarchy = await startHierarchy(await memoryWith(new Map([['a', someBytes(50, 1)]])), tiers, {
      policy,
    });
    await hierarchy.place('a');
    for (let i = 0; i < 5; i++) await hierarchy.read('a');
    await hierarchy.idle();
    expect((await hierarchy.stat('a')).level).toBe(1);
    await hierarchy.close();
  });
});
