import { Random } from '@tiered/core';
import { listSequence, Prefetcher, shuffledSequence } from '@tiered/prefetch';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  charge,
  expectIdle,
  HoldingDriver,
  keys,
  next,
  objects,
  outcomeOf,
  over,
  samplesOf,
  settled,
  started,
  WatchedDriver,
  withCode,
} from './helpers.js';

const SIZES = Array.from({ length: 10 }, (_, i) => 100 + i);
const sequence = listSequence(keys(10));
const expected = samplesOf(sequence, SIZES);

const setup = fc.record({
  sizes: fc.array(fc.oneof(fc.constant(0), fc.nat(300), fc.nat(3000)), { minLength: 1, maxLength: 15 }),
  budget: fc.oneof(fc.constantFrom(0, 64, 640), fc.nat(10_000), fc.constant(1e6)),
  producers: fc.integer({ min: 1, max: 5 }),
  epochs: fc.integer({ min: 1, max: 3 }),
  seed: fc.nat(1000),
  /** How far from the sequence's the consumers' order is: 0 keeps it, a million is any order at all. */
  disorder: fc.constantFrom(0, 3, 1_000_000),
  consumers: fc.integer({ min: 1, max: 4 }),
  piece: fc.integer({ min: 1, max: 4000 }),
  skipped: fc.nat(4),
});

/** The accesses, moved about by up to `distance` places. */
function disordered<T>(items: readonly T[], distance: number, seed: number): T[] {
  const random = new Random(seed);
  return items
    .map((item, i) => ({ item, place: i + random.below(distance + 1) }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}

describe('reading by name', () => {
  it('[P1] [P5] gives every byte of every object in any order, with any number of consumers, and never waits forever', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), setup, async (scheduler, there) => {
        const { sizes, budget, producers, epochs, seed } = there;
        const driver = new WatchedDriver(await objects(sizes));
        driver.during = ({ operation, key }) => scheduler.schedule(Promise.resolve(), `${operation} ${key}`);
        const hierarchy = await started(driver);
        const accesses = shuffledSequence(keys(sizes.length), { seed, epochs });
        const prefetcher = new Prefetcher(hierarchy, accesses, {
          memory: budget,
          producers,
          autotuner: false,
        });
        const wanted = disordered(samplesOf(accesses, sizes), there.disorder, seed).slice(there.skipped);
        const rest = wanted.values();
        const consume = async () => {
          for (const { key, data } of rest) {
            const target = new Uint8Array(there.piece);
            let offset = 0;
            for (;;) {
              const count = await prefetcher.readInto(key, target, { offset });
              expect(target.subarray(0, count)).toEqual(data.subarray(offset, offset + there.piece));
              offset += count;
              if (count < there.piece) break;
            }
            expect(offset).toBe(data.byteLength);
            if (offset > 0)
              expect(await prefetcher.readInto(key, target, { offset }), 'behind the end').toBe(0);
          }
        };
        await scheduler.waitFor(Promise.all(Array.from({ length: there.consumers }, consume)));
        await scheduler.waitFor(prefetcher.close());
        expectIdle(prefetcher);
        await scheduler.waitFor(hierarchy.close());
      }),
      { numRuns: 150 },
    );
  });

  it('[P5] asks the source once for each object, as long as consumers stay within what is read ahead', async () => {
    const driver = new WatchedDriver(await objects(SIZES));
    const prefetcher = new Prefetcher(await over(driver), sequence, { autotuner: false });
    await settled();
    for (const i of [3, 0, 2, 1, 9, 8, 7, 6, 5, 4]) {
      const target = new Uint8Array(200);
      expect(await prefetcher.readInto(`${i}`, target)).toBe(100 + i);
      expect(target.subarray(0, 100 + i)).toEqual(expected[i]?.data);
    }
    expect(driver.started.toSorted()).toEqual(keys(10));
    expect(await next(prefetcher), 'all were taken').toBeUndefined();
    expect(prefetcher.stats()).toMatchObject({ samples: 10, bypassed: 0 });
  });

  it('[P5] what was read before its turn is not read again when its turn comes', async () => {
    const driver = new WatchedDriver(await objects(SIZES));
    const prefetcher = new Prefetcher(await over(driver), sequence, { memory: 0, autotuner: false });
    await settled();
    expect(await prefetcher.readInto('5', new Uint8Array(200))).toBe(105);
    const left = [];
    for (let sample = await next(prefetcher); sample !== undefined; sample = await next(prefetcher))
      left.push(sample.key);
    expect(left).toEqual(keys(10).filter((key) => key !== '5'));
    expect(driver.started.toSorted()).toEqual(keys(10));
  });

  it('[P5] two who wait for an object that comes twice get it from one read', async () => {
    const driver = new HoldingDriver(await objects(SIZES));
    const twice = listSequence(['1', '1', '2']);
    const prefetcher = new Prefetcher(await over(driver), twice, { producers: 2 });
    await settled();
    const both = [1, 2].map(() => outcomeOf(prefetcher.readInto('1', new Uint8Array(200))));
    await settled();
    await driver.release('1');
    expect(both).toEqual([{ value: 101 }, { value: 101 }]);
    expect(driver.started).toEqual(['1', '2']);
    expect(prefetcher.stats()).toMatchObject({ samples: 2, bypassed: 0 });
    await driver.releaseAll(prefetcher.close());
  });

  it('waits for an object that is on its way, and reads it once', async () => {
    const driver = new HoldingDriver(await objects(SIZES));
    const prefetcher = new Prefetcher(await over(driver), sequence, { producers: 2 });
    await settled();
    const target = new Uint8Array(200);
    const read = outcomeOf(prefetcher.readInto('1', target));
    await settled();
    expect(read).toEqual({});
    await driver.release('1');
    expect(read).toEqual({ value: 101 });
    expect(driver.started.filter((key) => key === '1')).toHaveLength(1);
    await driver.releaseAll(prefetcher.close());
  });

  it('[P5] a window full of objects that nobody asks for is given up bit by bit', async () => {
    const sizes = Array.from({ length: 60 }, () => 64);
    const driver = new WatchedDriver(await objects(sizes));
    const budget = 10 * charge(64);
    const prefetcher = new Prefetcher(await over(driver), listSequence(keys(60)), {
      memory: budget,
      producers: 1,
    });
    await settled();
    // Every object but each tenth.
    for (const key of keys(60).filter((k) => Number(k) % 10 !== 0)) {
      await prefetcher.readInto(key, new Uint8Array(64));
      await settled();
    }
    const { dropped, bypassed } = prefetcher.stats();
    expect(dropped).toBeGreaterThan(3);
    expect(bypassed).toBeLessThan(12);
  });

  it.each([-1, 0.5, NaN, 2 ** 60])('from offset %s is TIERED_RANGE_INVALID', async (offset) => {
    const prefetcher = new Prefetcher(await over(await objects(SIZES)), sequence);
    const read = prefetcher.readInto('0', new Uint8Array(1), { offset });
    await expect(read).rejects.toEqual(withCode('TIERED_RANGE_INVALID'));
  });

  it('an object that is not there is TIERED_NOT_FOUND, and the sequence goes on', async () => {
    const prefetcher = new Prefetcher(await over(await objects(SIZES)), sequence);
    await expect(prefetcher.readInto('nothing', new Uint8Array(1))).rejects.toEqual(
      withCode('TIERED_NOT_FOUND'),
    );
    expect(await next(prefetcher)).toEqual(expected[0]);
  });

  it('[P3] an abort ends the wait, and leaves the object to others', async () => {
    const driver = new HoldingDriver(await objects(SIZES));
    const prefetcher = new Prefetcher(await over(driver), sequence, { producers: 1 });
    await settled();
    const controller = new AbortController();
    const read = outcomeOf(prefetcher.readInto('0', new Uint8Array(200), controller));
    await settled();
    const reason = new Error('enough');
    controller.abort(reason);
    await settled();
    expect(read).toEqual({ error: reason });
    await driver.release();
    expect(await next(prefetcher)).toEqual(expected[0]);
    await driver.releaseAll(prefetcher.close());
  });
});

it('[P5] an object that comes many times is handed on from one to the next, also while it is taken', async () => {
  const driver = new HoldingDriver(await objects([10]));
  const accesses = listSequence(['0'], { epochs: 6 });
  const budget = 2 * charge(10);
  const prefetcher = new Prefetcher(await over(driver), accesses, {
    memory: budget,
    producers: 2,
    autotuner: false,
  });
  await settled();
  const reads = [1, 2, 3, 4, 5, 6].map(() => outcomeOf(prefetcher.readInto('0', new Uint8Array(20))));
  while (driver.held.length > 0) await driver.release();
  await settled();
  expect(reads).toEqual(reads.map(() => ({ value: 10 })));
  await driver.releaseAll(prefetcher.close());
  expectIdle(prefetcher);
});
