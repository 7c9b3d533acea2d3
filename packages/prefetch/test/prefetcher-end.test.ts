import { MemoryDriver } from '@tiered/core';
import { listSequence, Prefetcher } from '@tiered/prefetch';
import { describe, expect, it } from 'vitest';
import {
  charge,
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
} from './helpers.js';

const SIZES = Array.from({ length: 10 }, (_, i) => 100 + i);
const sequence = listSequence(keys(10));
const expected = samplesOf(sequence, SIZES);
const reason = new Error('no longer wanted');

describe('the end of the sequence', () => {
  it('is there at once if there is nothing to read', async () => {
    const controller = new AbortController();
    const prefetcher = new Prefetcher(await over(new MemoryDriver()), listSequence([]), controller);
    expect(await next(prefetcher)).toBeUndefined();
    expect(prefetcher.stats()).toMatchObject({ samples: 0, bytes: 0, reading: 0, heldBytes: 0 });
    expect(listenersOn(controller.signal)).toBe(0);
  });

  it('comes to every consumer that waits, and to everybody who asks later', async () => {
    const driver = new HoldingDriver(await objects(SIZES));
    const controller = new AbortController();
    const { signal } = controller;
    const prefetcher = new Prefetcher(await over(driver), sequence, { producers: 2, signal });
    const calls = Array.from({ length: 15 }, () => outcomeOf(next(prefetcher)));
    await settled();
    expect(listenersOn(signal)).toBe(1);
    while (driver.held.length > 0) await driver.release();
    expect(calls.slice(0, 10)).toEqual(expected.map((value) => ({ value })));
    expect(calls.slice(10)).toEqual(Array.from({ length: 5 }, () => ({ value: undefined })));
    expect(await next(prefetcher)).toBeUndefined();
    expect(listenersOn(signal)).toBe(0);
    controller.abort(reason);
    expect(await next(prefetcher), 'an abort after the end').toBeUndefined();
    expectIdle(prefetcher);
  });

  it('is shared by all who iterate the same prefetcher', async () => {
    const prefetcher = new Prefetcher(await over(await objects(SIZES)), sequence);
    const [one, two] = await Promise.all([collect(prefetcher), collect(prefetcher)]);
    const together = [...one, ...two].sort((a, b) => a.position - b.position);
    expect(together).toEqual(expected);
    for (const part of [one, two])
      expect(part).toEqual(expected.filter((sample) => part.some((s) => s.key === sample.key)));
    expect(await collect(prefetcher), 'what is left').toEqual([]);
  });
});

describe('an abort', () => {
  it('before the start is thrown, and nothing is read or listened to', async () => {
    const driver = new WatchedDriver(await objects(SIZES));
    const signal = AbortSignal.abort(reason);
    const prefetcher = new Prefetcher(await over(driver), sequence, { signal });
    for (let i = 0; i < 2; i++) await expect(next(prefetcher)).rejects.toBe(reason);
    await settled();
    expect(driver.started).toEqual([]);
    expectIdle(prefetcher);
    expect(listenersOn(signal)).toBe(0);
  });

  it('[P3] while consumers wait is thrown to all of them, and ends every read', async () => {
    const driver = new HoldingDriver(await objects(SIZES));
    const controller = new AbortController();
    const { signal } = controller;
    const prefetcher = new Prefetcher(await over(driver), sequence, { producers: 2, signal });
    const calls = Array.from({ length: 5 }, () => outcomeOf(next(prefetcher)));
    await settled();
    expect(driver.held).toHaveLength(2);
    controller.abort(reason);
    await settled();
    expect(calls).toEqual(Array.from({ length: 5 }, () => ({ error: reason })));
    expect(listenersOn(signal)).toBe(0);
    while (driver.held.length > 0) await driver.release();
    expectIdle(prefetcher);
    expect(driver.started).toHaveLength(2);
  });

  it('while a consumer computes is thrown at its next call, and what waits for it is let go', async () => {
    const driver = new WatchedDriver(await objects(SIZES));
    const controller = new AbortController();
    const { signal } = controller;
    const budget = 3 * charge(110);
    const prefetcher = new Prefetcher(await over(driver), sequence, { signal, memory: budget });
    const seen: string[] = [];
    const loop = async () => {
      for await (const { key } of prefetcher) {
        seen.push(key);
        await settled();
        if (key === '2') controller.abort(reason);
        if (key === '2') expect(prefetcher.stats().heldBytes, 'its own').toBe(charge(102));
      }
    };
    await expect(loop()).rejects.toBe(reason);
    expect(seen).toEqual(['0', '1', '2']);
    const started = driver.started.length;
    await settled();
    expect(driver.started).toHaveLength(started);
    expect(started).toBeLessThan(10);
    expectIdle(prefetcher);
    expect(listenersOn(signal)).toBe(0);
    await prefetcher.close();
  });

  it('while a sample is looked up ends the lookup too', async () => {
    const driver = new WatchedDriver(await objects(SIZES));
    let looked: () => void = () => undefined;
    driver.during = () => new Promise<void>((resolve) => (looked = resolve));
    const controller = new AbortController();
    const prefetcher = new Prefetcher(await over(driver), sequence, controller);
    const call = outcomeOf(next(prefetcher));
    await settled();
    controller.abort(reason);
    await settled();
    expect(call).toEqual({ error: reason });
    looked();
    await settled();
    expect(driver.started).toEqual([]);
    expectIdle(prefetcher);
  });
});
