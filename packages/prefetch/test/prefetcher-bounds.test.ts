import { ThrottleDriver } from '@tiered/core/decorators';
import { ManualClock } from '@tiered/core/testing';
import { listSequence, Prefetcher, StagingBuffer, type PrefetcherOptions } from '@tiered/prefetch';
import { describe, expect, it } from 'vitest';
import {
  charge,
  collect,
  expectIdle,
  HoldingDriver,
  keys,
  next,
  objects,
  over,
  outcomeOf,
  samplesOf,
  settled,
  WatchedDriver,
  withCode,
} from './helpers.js';

/** A prefetcher over as many objects as there are sizes, in the order of the list. */
async function prefetching(sizes: readonly number[], options: PrefetcherOptions) {
  const driver = new WatchedDriver(await objects(sizes));
  const accesses = listSequence(keys(sizes.length));
  const prefetcher = new Prefetcher(await over(driver), accesses, { autotuner: false, ...options });
  return { driver, prefetcher, expected: samplesOf(accesses, sizes) };
}

/** As `prefetching`, with reads that wait for the test. */
async function holding(sizes: readonly number[], options: PrefetcherOptions) {
  const driver = new HoldingDriver(await objects(sizes));
  const accesses = listSequence(keys(sizes.length));
  const prefetcher = new Prefetcher(await over(driver), accesses, { autotuner: false, ...options });
  await settled();
  return { driver, prefetcher, expected: samplesOf(accesses, sizes) };
}

const hundred = Array.from({ length: 100 }, () => 1000);

describe('a consumer that does not consume', () => {
  it('[P2] stops the reads where the budget ends, and each sample it takes lets the next one in', async () => {
    const budget = 5 * charge(1000);
    const { driver, prefetcher, expected } = await prefetching(hundred, { memory: budget, producers: 4 });
    await settled();
    expect(driver.started).toEqual(keys(5));
    expect(prefetcher.stats()).toMatchObject({ reading: 0, heldBytes: budget, samples: 0 });
    for (let taken = 1; taken <= 10; taken++) {
      expect(await next(prefetcher)).toEqual(expected[taken - 1]);
      await settled();
      expect(driver.started).toEqual(keys(5 + taken));
      expect(prefetcher.stats()).toMatchObject({ heldBytes: budget, samples: taken, bytes: 1000 * taken });
    }
    expect(await collect(prefetcher)).toEqual(expected.slice(10));
    expectIdle(prefetcher);
  });

  it('stops the reads of empty objects too, which cost their bookkeeping', async () => {
    const { driver, prefetcher } = await prefetching(
      Array.from({ length: 50 }, () => 0),
      { memory: 7 * 64 },
    );
    await settled();
    expect(prefetcher.stats().heldBytes).toBe(7 * 64);
    expect(driver.started, 'an empty object needs no read of the source').toEqual([]);
    expect(await collect(prefetcher)).toHaveLength(50);
  });

  it('keeps to bounds from outside, from then on and for as long as they are there', async () => {
    const staging = new StagingBuffer({ memory: 50 * charge(1000), producers: 8, autotuner: false });
    const { driver, prefetcher, expected } = await holding(hundred, { staging, autotuner: undefined });
    expect(driver.held).toHaveLength(8);
    staging.bound({ concurrency: 3 });
    for (let i = 0; i < 5; i++) await driver.release();
    expect(driver.held, 'those under way go on, and no more begin').toHaveLength(3);
    await driver.release();
    expect(driver.held).toHaveLength(3);
    staging.bound({});
    await settled();
    expect(driver.held).toHaveLength(8);
    staging.bound({ memory: 12 * charge(1000) });
    while (driver.held.length > 0) await driver.release();
    expect(prefetcher.stats().heldBytes).toBeLessThanOrEqual(14 * charge(1000));
    expect(staging.tuning.memoryBytes).toBe(12 * charge(1000));
    staging.bound({});
    expect(await driver.releaseAll(collect(prefetcher))).toEqual(expected);
    for (const bounds of [{ memory: 0 }, { concurrency: 0.5 }])
      expect(() => staging.bound(bounds)).toThrow(withCode('TIERED_CONFIG_INVALID'));
  });

  it('without a budget has one sample read ahead, the one that is next', async () => {
    const { driver, prefetcher, expected } = await prefetching([10, 20, 30], { memory: 0 });
    for (const [i, sample] of expected.entries()) {
      await settled();
      expect(driver.started).toEqual(keys(i + 1));
      expect(await next(prefetcher)).toEqual(sample);
    }
    expect(await next(prefetcher)).toBeUndefined();
  });
});

describe('reads under way', () => {
  it('are as many as there are producers, as long as the budget takes them', async () => {
    const { driver, prefetcher } = await holding(hundred, { producers: 3 });
    expect(driver.held).toEqual(['0', '1', '2']);
    expect(prefetcher.stats()).toMatchObject({ reading: 3, heldBytes: 3 * charge(1000) });
    // The first ones are the last to come: their places stay taken.
    for (const [key, held] of [
      ['2', ['0', '1', '3']],
      ['3', ['0', '1', '4']],
      ['0', ['1', '4', '5']],
    ] as const) {
      await driver.release(key);
      expect(driver.held).toEqual(held);
    }
    expect(driver.mostReading).toBe(3);
    expect((await next(prefetcher))?.key).toBe('0');
    await driver.releaseAll(prefetcher.close());
  });

  it('[P2] is one alone for a sample larger than the budget, once nothing else is held', async () => {
    const { driver, prefetcher, expected } = await holding([10, 5000, 10, 10], {
      memory: 1000,
      producers: 2,
    });
    expect(driver.held, 'the small one before it').toEqual(['0']);
    await driver.release();
    expect(driver.held, 'nothing, as long as the small one is held').toEqual([]);
    expect(await next(prefetcher)).toEqual(expected[0]);
    await settled();
    expect(driver.held).toEqual(['1']);
    expect(prefetcher.stats().heldBytes).toBe(charge(5000));
    await driver.release();
    expect(driver.held).toEqual([]);
    expect(await next(prefetcher)).toEqual(expected[1]);
    await settled();
    expect(driver.held).toEqual(['2', '3']);
    while (driver.held.length > 0) await driver.release();
    expect(await collect(prefetcher)).toEqual(expected.slice(2));
  });
});

it('a loop that computes without waiting lets the event loop turn all the same', async () => {
  const clock = new ManualClock();
  const hierarchy = await over(await objects(Array.from({ length: 100 }, () => 10)));
  const accesses = listSequence(Array.from({ length: 100 }, (_, i) => `${i}`));
  let turns = 0;
  void settled().then(() => turns++);
  const prefetcher = new Prefetcher(hierarchy, accesses, { clock, producers: 4 });
  for await (const { position } of prefetcher) {
    // Each sample takes a millisecond of computing, in which nothing else can happen.
    clock.pass(1);
    if (position === 98) break;
  }
  expect(turns).toBe(1);
});

describe('stallMs', () => {
  it('is the time that consumers waited, and not the time they computed', async () => {
    const clock = new ManualClock();
    const slow = new ThrottleDriver(await objects([10, 10, 10]), { latencyMs: 100, clock });
    const hierarchy = await clock.run(over(slow, { scan: true, clock }));
    const prefetcher = new Prefetcher(hierarchy, listSequence(keys(3)), { producers: 1, clock });
    const first = outcomeOf(next(prefetcher));
    await clock.advance(99);
    expect(first.value).toBeUndefined();
    await clock.advance(1);
    expect(first.value).toMatchObject({ key: '0' });
    expect(prefetcher.stats().stallMs).toBe(100);
    await clock.advance(500);
    await next(prefetcher);
    expect(prefetcher.stats().stallMs, 'the second was there').toBe(100);
    expect(await next(prefetcher)).toMatchObject({ key: '2' });
    expect(prefetcher.stats().stallMs, 'the third too').toBe(100);
    expect(await next(prefetcher)).toBeUndefined();
    expect(prefetcher.stats().stallMs).toBe(100);
    expect(clock.sleeping).toBe(0);
  });

  it('counts the rest of a read that began while the consumer computed', async () => {
    const clock = new ManualClock();
    const slow = new ThrottleDriver(await objects([10, 10]), { latencyMs: 100, clock });
    const hierarchy = await clock.run(over(slow, { scan: true, clock }));
    const prefetcher = new Prefetcher(hierarchy, listSequence(keys(2)), { producers: 1, clock });
    await clock.advance(130);
    await next(prefetcher);
    expect(prefetcher.stats().stallMs).toBe(0);
    const second = outcomeOf(next(prefetcher));
    await clock.advance(70);
    expect(second.value).toMatchObject({ key: '1' });
    expect(prefetcher.stats().stallMs).toBe(70);
  });
});

it.each([
  { producers: 0 },
  { producers: 1.5 },
  { producers: NaN },
  { concurrency: 0 },
  { memory: -1 },
  { memory: 'much' },
  { priority: 0 },
  { priority: NaN },
  { staging: new StagingBuffer(), memory: 1 },
])('%j is TIERED_CONFIG_INVALID', async (options) => {
  const hierarchy = await over(await objects([1]));
  expect(() => new Prefetcher(hierarchy, listSequence(['0']), options as PrefetcherOptions)).toThrow(
    withCode('TIERED_CONFIG_INVALID'),
  );
});
