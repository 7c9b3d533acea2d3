import { FaultDriver, MemoryDriver, type Clock, type FaultRule } from '@tiered/core';
import { listSequence, Prefetcher, type Access, type PrefetcherOptions } from '@tiered/prefetch';
import { describe, expect, it } from 'vitest';
import {
  collect,
  expectIdle,
  HoldingDriver,
  keys,
  listenersOn,
  objects,
  outcomeOf,
  over,
  samplesOf,
  settled,
  WatchedDriver,
  withCode,
} from './helpers.js';

const SIZES = Array.from({ length: 10 }, (_, i) => 100 + i);
const injected = withCode('TIERED_FAULT_INJECTED');

/** Ten objects, of which number 4 has a fault in this operation. */
async function faulty(operation: 'read' | 'stat', options: PrefetcherOptions, fault: FaultRule['fault']) {
  const rules = [{ operations: [operation], key: /^4$/, fault }];
  const driver = new WatchedDriver(new FaultDriver(await objects(SIZES), { rules }));
  const accesses = listSequence(keys(10));
  const prefetcher = new Prefetcher(await over(driver), accesses, options);
  return { driver, prefetcher, expected: samplesOf(accesses, SIZES) };
}

describe.each(['read', 'stat'] as const)('a %s that fails', (operation) => {
  it.each([
    { producers: 1, budget: 0 },
    { producers: 1, budget: 1e9 },
    { producers: 3, budget: 1e9 },
    { producers: 8, budget: 1e9 },
  ])(
    '[P3] is thrown at its place, after the samples before it; nothing is read after: %j',
    async (options) => {
      const controller = new AbortController();
      const { driver, prefetcher, expected } = await faulty(
        operation,
        { ...options, signal: controller.signal },
        { kind: 'fail', retryable: false },
      );
      await settled();
      for (const sample of expected.slice(0, 4)) expect((await prefetcher.next()).value).toEqual(sample);
      await expect(prefetcher.next()).rejects.toEqual(injected);
      const started = driver.started.length;
      await settled();
      expectIdle(prefetcher);
      expect(driver.reading).toBe(0);
      expect(listenersOn(controller.signal)).toBe(0);
      await expect(prefetcher.next(), 'the iteration is over').rejects.toEqual(injected);
      expect(await prefetcher.return()).toEqual({ done: true, value: undefined });
      expect(driver.started).toHaveLength(started);
      if (operation === 'stat') expect(driver.started).toEqual(keys(4));
      expect(prefetcher.stats()).toMatchObject({ samples: 4, bytes: 100 + 101 + 102 + 103 });
    },
  );

  it.each([
    ['', {}],
    // Each sample is then taken a turn later, when the one after a failed one may be there.
    [', also where the event loop turns for each sample', { clock: hasty() }],
  ])('ends a loop, and the waits of all other consumers%s', async (_, options) => {
    const { prefetcher, expected } = await faulty(operation, { producers: 1, ...options }, { kind: 'fail' });
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => prefetcher.next()));
    expect(results.slice(0, 4)).toEqual(
      expected.slice(0, 4).map((value) => ({ status: 'fulfilled', value: { done: false, value } })),
    );
    expect(results[4]).toEqual({ status: 'rejected', reason: injected });
    for (const result of results.slice(5)) {
      if (result.status === 'fulfilled') expect(result.value.done).toBe(true);
      else expect(result.reason).toEqual(injected);
    }
    await expect(collect(prefetcher)).rejects.toEqual(injected);
    await settled();
    expectIdle(prefetcher);
  });
});

/** A clock that has moved on at each look. */
function hasty(): Clock {
  let now = 0;
  return { now: () => (now += 1000), sleep: () => settled(), turn: () => settled() };
}

it('an object that is missing is thrown at its place', async () => {
  const hierarchy = await over(await objects([10]));
  const prefetcher = new Prefetcher(hierarchy, listSequence(['0', 'missing', '0']));
  expect((await prefetcher.next()).value?.key).toBe('0');
  await expect(prefetcher.next()).rejects.toEqual(withCode('TIERED_NOT_FOUND'));
});

it('an object that was cut short since it was looked at is thrown at its place', async () => {
  const { prefetcher, expected } = await faulty('read', {}, { kind: 'truncate' });
  for (const sample of expected.slice(0, 4)) expect((await prefetcher.next()).value).toEqual(sample);
  await expect(prefetcher.next()).rejects.toEqual(withCode('TIERED_SOURCE_CHANGED'));
});

it('[P3] a failure that comes before its turn waits until the samples before it were taken', async () => {
  const memory = await objects(SIZES);
  const driver = new HoldingDriver(memory);
  const accesses = listSequence(keys(10));
  const prefetcher = new Prefetcher(await over(driver), accesses, { producers: 3 });
  const results = [0, 1, 2].map(() => outcomeOf(prefetcher.next()));
  await settled();
  await memory.delete('1', {});
  await driver.release('1');
  expect(results, 'the first one is still being read').toEqual([{}, {}, {}]);
  await driver.release('0');
  expect(results[0]).toMatchObject({ value: { value: { key: '0' } } });
  expect(results[1]).toEqual({ error: withCode('TIERED_NOT_FOUND') });
  await prefetcher.return();
  expectIdle(prefetcher);
});

it('a sequence that throws ends the iteration with what it threw', async () => {
  const failure = new Error('no more accesses');
  const failing = function* (): Generator<Access> {
    yield { key: '0', epoch: 0, position: 0 };
    throw failure;
  };
  const prefetcher = new Prefetcher(await over(await objects([10])), failing());
  const results = [outcomeOf(prefetcher.next()), outcomeOf(prefetcher.next())];
  await settled();
  expect(results[0]).toMatchObject({ value: { value: { key: '0' } } });
  expect(results[1]).toEqual({ error: failure });
});

it('a sequence that is resumed where it does not reach is TIERED_CONFIG_INVALID', async () => {
  const accesses = listSequence(['0'], { epochs: 2 });
  const result = outcomeOf(
    (async () => new Prefetcher(await over(new MemoryDriver()), accesses.from(0, -1)).next())(),
  );
  for (let turns = 0; turns < 10; turns++) await settled();
  expect(result).toEqual({ error: withCode('TIERED_CONFIG_INVALID') });
});
