import { describe, expect, it } from 'vitest';
import { TieredError } from '@tiered/core';
import { HedgeDriver, type HedgeDriverOptions } from '@tiered/core/decorators';
import type { ReadIntoOptions } from '@tiered/core/driver';
import { ManualClock } from '@tiered/core/testing';
import { listenersOn, memoryWith, outcomeOf, pattern, readFrom } from '../helpers.js';
import { UnsteadyDriver, type Plan } from './unsteady-driver.js';

const SIZE = 100;
const REASON = new Error('the caller lost interest');

/** A driver that knows that reads take 10 ms; the next requests go as the plans say. */
async function prepared(plans: readonly Plan[], options: HedgeDriverOptions = {}) {
  const clock = new ManualClock();
  const memory = await memoryWith({ a: pattern(SIZE) });
  const unsteady = new UnsteadyDriver(memory, clock);
  const driver = new HedgeDriver(unsteady, { percentile: 0.5, budget: 1, clock, ...options });
  for (let i = 0; i < 4; i++) await clock.run(readFrom(driver, 'a', SIZE));
  unsteady.requests = 0;
  unsteady.plans.push(...plans);
  return { clock, memory, unsteady, driver };
}

/** The ways to read the whole object. */
const WAYS = {
  read: (driver: HedgeDriver, signal?: AbortSignal) => readFrom(driver, 'a', SIZE, { signal }),
  readInto: async (driver: HedgeDriver, signal?: AbortSignal) => {
    const target = new Uint8Array(SIZE);
    return target.subarray(0, await driver.readInto('a', target, { offset: 0, signal }));
  },
};
const ways = Object.values(WAYS);

describe('an error of a hedged read', () => {
  it('of the first request that may pass waits for the second', async () => {
    for (const way of ways) {
      const { clock, driver } = await prepared([{ ms: 15, fails: 'retryable' }]);
      expect(await clock.run(way(driver))).toEqual(pattern(SIZE));
      expect(clock.now()).toBe(40 + 20);
      expect(driver.metrics()).toMatchObject({ hedges: 1, won: 1, lost: 0 });
    }
  });

  it('of the first request that may pass is the answer if the second fails too, whichever fails first', async () => {
    for (const way of ways) {
      for (const ms of [2, 10]) {
        const { clock, driver } = await prepared([
          { ms: 15, fails: 'retryable' },
          { ms, fails: 'final' },
        ]);
        await expect(clock.run(way(driver))).rejects.toMatchObject({ message: 'a retryable error' });
        expect(clock.now()).toBe(40 + Math.max(15, 10 + ms));
        expect(driver.metrics()).toMatchObject({ hedges: 1, won: 0, lost: 1 });
      }
    }
  });

  it('of the first request that does not pass is the answer, and ends the second', async () => {
    for (const way of ways) {
      const { clock, unsteady, driver } = await prepared([{ ms: 15, fails: 'final' }]);
      await expect(clock.run(way(driver))).rejects.toMatchObject({ message: 'a final error' });
      expect([clock.now(), unsteady.active, clock.sleeping]).toEqual([40 + 15, 0, 0]);
      expect(driver.metrics()).toMatchObject({ hedges: 1, lost: 1 });
    }
  });

  it('of the first request before it is late is the answer at once, and nothing is asked a second time', async () => {
    for (const fails of ['retryable', 'final'] as const) {
      const { clock, unsteady, driver } = await prepared([{ ms: 5, fails }]);
      await expect(clock.run(readFrom(driver, 'a', SIZE))).rejects.toMatchObject({ code: 'TIERED_IO' });
      expect([clock.now(), unsteady.requests, clock.sleeping]).toEqual([40 + 5, 1, 0]);
    }
  });

  it('of the second request is nobody’s: the first goes on', async () => {
    for (const way of ways) {
      for (const fails of ['retryable', 'final'] as const) {
        const { clock, driver } = await prepared([{ ms: 50 }, { ms: 2, fails }]);
        expect(await clock.run(way(driver))).toEqual(pattern(SIZE));
        expect(clock.now()).toBe(40 + 50);
        expect(driver.metrics()).toMatchObject({ hedges: 1, won: 0, lost: 1 });
      }
    }
  });
});

describe('the memory of a hedged readInto', () => {
  it('[H1] is filled by the second request when the first has let go of it, and not before', async () => {
    const { clock, memory, driver } = await prepared([{ ms: 500, lingersMs: 70 }]);
    const target = new Uint8Array(SIZE);
    const outcome = outcomeOf(driver.readInto('a', target, { offset: 0 }));
    await clock.advance(5);
    await memory.write('a', pattern(SIZE, 1), { size: SIZE });
    await clock.advance(10 + 5 + 69);
    expect([outcome, target]).toEqual([{}, new Uint8Array(SIZE)]);
    await clock.advance(1);
    expect([outcome, target]).toEqual([{ value: SIZE }, pattern(SIZE, 1)]);
  });

  it('is not waited for by a read, but by close', async () => {
    const { clock, unsteady, driver } = await prepared([{ ms: 500, lingersMs: 70 }]);
    await driver.open({});
    expect(await clock.run(WAYS.read(driver))).toEqual(pattern(SIZE));
    expect([clock.now(), unsteady.active]).toEqual([40 + 20, 1]);
    await clock.run(driver.close());
    expect([clock.now(), unsteady.active]).toEqual([40 + 90, 0]);
  });

  it('close waits for second requests that lost as well', async () => {
    const { clock, unsteady, driver } = await prepared([{ ms: 15 }, { ms: 500, lingersMs: 70 }]);
    await driver.open({});
    await clock.run(WAYS.readInto(driver));
    expect([clock.now(), unsteady.active]).toEqual([40 + 15, 1]);
    await clock.run(driver.close());
    expect([clock.now(), unsteady.active]).toEqual([40 + 85, 0]);
  });
});

describe('the progress of a hedged readInto', () => {
  const readTelling = (driver: HedgeDriver, target: Uint8Array, more: Partial<ReadIntoOptions> = {}) => {
    const told: number[] = [];
    const options = { offset: 0, progress: (bytes: number) => void told.push(bytes), ...more };
    return { told, outcome: outcomeOf(driver.readInto('a', target, options)) };
  };

  it('is that of the first request, and ends when the second answers', async () => {
    const { clock, driver } = await prepared([{ ms: 100, parts: 20, lingersMs: 7 }]);
    const target = new Uint8Array(SIZE);
    const { told, outcome } = readTelling(driver, target);
    await clock.advance(1000);
    expect([told, outcome]).toEqual([[5, 10, 15], { value: SIZE }]);
    expect(target).toEqual(pattern(SIZE));
  });

  it('[H1] stays true: a second answer that differs from what was told is not used', async () => {
    const { clock, memory, driver } = await prepared([{ ms: 100, parts: 20 }]);
    const target = new Uint8Array(SIZE);
    const { told, outcome } = readTelling(driver, target);
    await clock.advance(6);
    await memory.write('a', pattern(SIZE, 1), { size: SIZE });
    await clock.advance(1000);
    expect([told.length, outcome]).toEqual([20, { value: SIZE }]);
    expect(target).toEqual(pattern(SIZE));
    expect(driver.metrics()).toMatchObject({ hedges: 1, won: 0, lost: 1 });
  });

  it('also if the first request fails then', async () => {
    const { clock, memory, driver } = await prepared([{ ms: 100, parts: 20, fails: 'retryable' }]);
    const target = new Uint8Array(SIZE);
    const { outcome } = readTelling(driver, target);
    await clock.advance(6);
    await memory.write('a', pattern(10, 1), { size: 10 });
    await clock.advance(1000);
    expect(outcome.error).toMatchObject({ message: 'a retryable error' });
    expect(target).toEqual(pattern(SIZE));
  });

  it('is not needed for the second answer to count: nothing was told of the old version', async () => {
    const { clock, memory, driver } = await prepared([{ ms: 100, parts: 2 }]);
    const target = new Uint8Array(SIZE);
    const { told, outcome } = readTelling(driver, target);
    await clock.advance(6);
    await memory.write('a', pattern(SIZE, 1), { size: SIZE });
    await clock.advance(1000);
    expect([told, outcome]).toEqual([[], { value: SIZE }]);
    expect(target).toEqual(pattern(SIZE, 1));
  });
});

it('an answer that came while the event loop was kept busy is looked at before a second request is made', async () => {
  const { clock, unsteady, driver } = await prepared([{ ms: 10.5 }]);
  const reading = readFrom(driver, 'a', SIZE);
  await clock.advance(0);
  clock.pass(50);
  await clock.advance(0);
  await clock.run(reading);
  expect([unsteady.requests, driver.metrics().hedges]).toEqual([1, 0]);
});

describe('an abort by the caller', () => {
  it.each([
    ['before the read is late', 5],
    ['while both requests are under way', 15],
  ])('%s ends all there is', async (_, afterMs) => {
    for (const way of ways) {
      const { clock, unsteady, driver } = await prepared([{ ms: 500 }, { ms: 500 }]);
      const controller = new AbortController();
      const outcome = outcomeOf(way(driver, controller.signal));
      await clock.advance(afterMs);
      controller.abort(REASON);
      await clock.advance(0);
      expect(outcome).toEqual({ error: REASON });
      expect([unsteady.active, clock.sleeping, listenersOn(controller.signal)]).toEqual([0, 0, 0]);
      expect(driver.metrics()).toMatchObject({ hedges: afterMs > 10 ? 1 : 0, won: 0, lost: 0 });
    }
  });

  it('waits until the first request has let go of the memory', async () => {
    const { clock, driver } = await prepared([{ ms: 500, lingersMs: 70 }, { ms: 500 }]);
    const controller = new AbortController();
    const outcome = outcomeOf(WAYS.readInto(driver, controller.signal));
    await clock.advance(15);
    controller.abort(REASON);
    await clock.advance(69);
    expect(outcome).toEqual({});
    await clock.advance(1);
    expect(outcome).toEqual({ error: REASON });
  });

  it('is followed by no second request while the first takes its time to end', async () => {
    const { clock, unsteady, driver } = await prepared([{ ms: 500, lingersMs: 70 }]);
    const controller = new AbortController();
    const outcome = outcomeOf(WAYS.readInto(driver, controller.signal));
    await clock.advance(5);
    controller.abort(REASON);
    await clock.advance(1000);
    expect(outcome).toEqual({ error: REASON });
    expect([unsteady.requests, driver.metrics().hedges]).toEqual([1, 0]);
  });

  it('that came before asks nothing', async () => {
    const { clock, driver } = await prepared([]);
    await expect(clock.run(WAYS.read(driver, AbortSignal.abort(REASON)))).rejects.toBe(REASON);
    expect(clock.sleeping).toBe(0);
  });

  it('with an error that may pass is no reason to wait for the second request', async () => {
    const { clock, driver } = await prepared([{ ms: 500 }, { ms: 500, lingersMs: 70 }]);
    const controller = new AbortController();
    const outcome = outcomeOf(WAYS.read(driver, controller.signal));
    await clock.advance(15);
    const error = new TieredError('TIERED_DEADLINE', 'late', { retryable: true });
    controller.abort(error);
    await clock.advance(0);
    expect(outcome).toEqual({ error });
  });

  it('leaves no listener behind when the read is over', async () => {
    const { clock, driver } = await prepared([{}, { ms: 500 }]);
    const { signal } = new AbortController();
    await clock.run(Promise.all([WAYS.read(driver, signal), WAYS.readInto(driver, signal)]));
    expect([listenersOn(signal), clock.sleeping]).toEqual([0, 0]);
  });
});
