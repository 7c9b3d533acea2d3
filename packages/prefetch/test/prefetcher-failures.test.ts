import { MemoryDriver, type Clock } from '@tiered/core';
import { FaultDriver, type FaultRule } from '@tiered/core/testing';
import {
  listSequence,
  Prefetcher,
  StagingBuffer,
  type Access,
  type PrefetcherOptions,
  type SampleSource,
} from '@tiered/prefetch';
import { describe, expect, it } from 'vitest';
import {
  collect,
  expectIdle,
  HoldingDriver,
  keys,
  listenersOn,
  next,
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
async function faulty(operation: 'readInto' | 'stat', options: PrefetcherOptions, fault: FaultRule['fault']) {
  const rules = [{ operations: [operation], key: /^4$/, fault }];
  const driver = new WatchedDriver(new FaultDriver(await objects(SIZES), { rules }));
  const accesses = listSequence(keys(10));
  const prefetcher = new Prefetcher(await over(driver), accesses, { autotuner: false, ...options });
  return { driver, prefetcher, expected: samplesOf(accesses, SIZES) };
}

describe.each(['readInto', 'stat'] as const)('a %s that fails', (operation) => {
  it.each([
    { producers: 1, memory: 0 },
    { producers: 1, memory: 1e9 },
    { producers: 3, memory: 1e9 },
    { producers: 8, memory: 1e9 },
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
      for (const sample of expected.slice(0, 4)) expect(await next(prefetcher)).toEqual(sample);
      await expect(next(prefetcher)).rejects.toEqual(injected);
      const started = driver.started.length;
      await settled();
      expectIdle(prefetcher);
      expect(driver.reading).toBe(0);
      expect(listenersOn(controller.signal)).toBe(0);
      await expect(next(prefetcher), 'the iteration is over').rejects.toEqual(injected);
      await prefetcher.close();
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
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => next(prefetcher)));
    expect(results.slice(0, 4)).toEqual(
      expected.slice(0, 4).map((value) => ({ status: 'fulfilled', value })),
    );
    expect(results[4]).toEqual({ status: 'rejected', reason: injected });
    for (const result of results.slice(5)) {
      if (result.status === 'fulfilled') expect(result.value).toBeUndefined();
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
  expect((await next(prefetcher))?.key).toBe('0');
  await expect(next(prefetcher)).rejects.toEqual(withCode('TIERED_NOT_FOUND'));
});

it('an object that was cut short since it was looked at is thrown at its place', async () => {
  const { prefetcher, expected } = await faulty('readInto', {}, { kind: 'truncate' });
  for (const sample of expected.slice(0, 4)) expect(await next(prefetcher)).toEqual(sample);
  await expect(next(prefetcher)).rejects.toEqual(withCode('TIERED_SOURCE_CHANGED'));
});

it('[P3] a failure that comes before its turn waits until the samples before it were taken', async () => {
  const memory = await objects(SIZES);
  const driver = new HoldingDriver(memory);
  const accesses = listSequence(keys(10));
  const prefetcher = new Prefetcher(await over(driver), accesses, { producers: 3 });
  const results = [0, 1, 2].map(() => outcomeOf(next(prefetcher)));
  await settled();
  await memory.delete('1', {});
  await driver.release('1');
  expect(results, 'the first one is still being read').toEqual([{}, {}, {}]);
  await driver.release('0');
  expect(results[0]).toMatchObject({ value: { key: '0' } });
  expect(results[1]).toEqual({ error: withCode('TIERED_NOT_FOUND') });
  await driver.releaseAll(prefetcher.close());
  expectIdle(prefetcher);
});

it('[P3] a size that could not be told fails no other object than its own', async () => {
  const staging = new StagingBuffer({ producers: 1, autotuner: false });
  const driver = new WatchedDriver(await objects([10, 10]));
  let fail: ((error: Error) => void) | undefined;
  driver.during = ({ key }) =>
    key === '1' && fail === undefined && new Promise<void>((_, reject) => (fail = reject));
  const prefetcher = new Prefetcher(await over(driver), listSequence(['1', '0']), { staging });
  await settled();
  // Has the only producer, so that nobody looks at the answer when it comes.
  const busy = new HoldingDriver(await objects([10]));
  const other = new Prefetcher(await over(busy), listSequence(['0']), { staging });
  await settled();
  expect(busy.held).toEqual(['0']);
  fail?.(new Error('its size'));
  await settled();
  expect(await prefetcher.readInto('1', new Uint8Array(10))).toBe(10);
  await busy.release();
  expect((await next(prefetcher))?.key).toBe('0');
  expect(await next(prefetcher)).toBeUndefined();
  await Promise.all([prefetcher.close(), other.close()]);
});

it('a sequence that throws ends the iteration with what it threw', async () => {
  const failure = new Error('no more accesses');
  const failing = function* (): Generator<Access> {
    yield { key: '0', epoch: 0, position: 0 };
    throw failure;
  };
  const prefetcher = new Prefetcher(await over(await objects([10])), failing());
  const results = [outcomeOf(next(prefetcher)), outcomeOf(next(prefetcher))];
  await settled();
  expect(results[0]).toMatchObject({ value: { key: '0' } });
  expect(results[1]).toEqual({ error: failure });
});

it('a sequence that is resumed where it does not reach is TIERED_CONFIG_INVALID', async () => {
  const accesses = listSequence(['0'], { epochs: 2 });
  const result = outcomeOf(
    (async () => new Prefetcher(await over(new MemoryDriver()), accesses.from(0, -1)).take(1))(),
  );
  for (let turns = 0; turns < 10; turns++) await settled();
  expect(result).toEqual({ error: withCode('TIERED_CONFIG_INVALID') });
});

it('an object for which there is no memory is thrown at its place, and says what to do', async () => {
  const source: SampleSource = {
    stat: async (key) => ({ size: key === 'huge' ? 2 ** 52 : 1 }),
    readInto: async (_, target) => target.byteLength,
  };
  const prefetcher = new Prefetcher(source, listSequence(['small', 'huge', 'small']));
  expect((await next(prefetcher))?.key).toBe('small');
  await expect(next(prefetcher)).rejects.toEqual(withCode('TIERED_TOO_LARGE'));
  await prefetcher.close();
  expectIdle(prefetcher);
});

it('a sequence that throws each time ends the iteration with what it threw', async () => {
  const failure = new Error('broken');
  const accesses: Iterable<Access> = {
    [Symbol.iterator]: () => ({
      next: () => {
        throw failure;
      },
    }),
  };
  const prefetcher = new Prefetcher(await over(await objects([10])), accesses);
  await expect(next(prefetcher)).rejects.toBe(failure);
  await prefetcher.close();
});

it('memory that cannot be had is TIERED_CONFIG_INVALID', async () => {
  const prefetcher = () => new Prefetcher(new Unread(), listSequence(['0']), { memory: 2 ** 52 });
  expect(prefetcher).toThrow(withCode('TIERED_CONFIG_INVALID'));
});

/** A source that nobody gets to read. */
class Unread implements SampleSource {
  async stat() {
    return { size: 0 };
  }

  async readInto() {
    return 0;
  }
}
