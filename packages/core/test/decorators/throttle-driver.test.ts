import { describe, expect, it } from 'vitest';
import { MemoryDriver } from '@tiered/core';
import { ThrottleDriver, type ThrottleDriverOptions } from '@tiered/core/decorators';
import { HoldingDriver, ManualClock, settled } from '@tiered/core/testing';
import { listed, listenersOn, memoryWith, outcomeOf, pattern, readFrom, withCode } from '../helpers.js';

const REASON = new Error('the caller lost interest');

/** A throttle on a clock of its own over `a` (100 bytes) and `big` (1,000 bytes). */
async function throttled(options: Omit<ThrottleDriverOptions, 'clock'>) {
  const clock = new ManualClock();
  const inner = await memoryWith({ a: pattern(100), big: pattern(1000) });
  return { clock, inner, driver: new ThrottleDriver(inner, { ...options, clock }) };
}

describe('the options of ThrottleDriver', () => {
  it.each<[unknown]>([
    [{ latencyMs: -1 }],
    [{ latencyMs: Number.NaN }],
    [{ latencyMs: Infinity }],
    [{ bytesPerSecond: 0 }],
    [{ bytesPerSecond: '0 MiB' }],
    [{ bytesPerSecond: -5 }],
    [{ bytesPerSecond: 'fast' }],
    [{ concurrency: 0 }],
    [{ concurrency: 1.5 }],
  ])('cannot be %j', (options) => {
    const make = () => new ThrottleDriver(new MemoryDriver(), options as ThrottleDriverOptions);
    expect(make).toThrow(withCode('TIERED_CONFIG_INVALID'));
  });

  it('without any, an operation takes no time', async () => {
    const { clock, driver } = await throttled({});
    expect(await readFrom(driver, 'a', 100)).toEqual(pattern(100));
    expect(clock.now()).toBe(0);
    expect(clock.sleeping).toBe(0);
  });
});

describe('the latency of ThrottleDriver', () => {
  it('is what every operation takes, and every page of a listing', async () => {
    const { clock, driver } = await throttled({ latencyMs: 5 });
    const target = new Uint8Array(4);
    const writer = await clock.run(driver.create('d', { size: 1 }));
    const operations: [string, () => Promise<unknown>][] = [
      ['open', () => driver.open({})],
      ['stat', () => driver.stat('a', {})],
      ['read', () => readFrom(driver, 'a', 4)],
      ['readInto', () => driver.readInto('a', target, { offset: 0 })],
      [
        'readMany',
        () =>
          driver.readMany(
            [
              { key: 'a', offset: 0, target },
              { key: 'big', offset: 0, target },
            ],
            {},
          ),
      ],
      ['write', () => driver.write('b', pattern(1), { size: 1 })],
      ['create', () => driver.create('c', { size: 1 })],
      ['writeAt', () => writer.writeAt(pattern(1), { offset: 0 })],
      ['publish', () => writer.publish({})],
      ['openIndex', () => driver.openIndex({})],
      ['delete', () => driver.delete('b', {})],
      ['usage', () => driver.usage({})],
      ['the first page', () => driver.list({})[Symbol.asyncIterator]().next()],
    ];
    for (const [name, run] of operations) {
      const start = clock.now();
      await clock.run(run());
      expect(clock.now() - start, name).toBe(5);
    }
  });

  it('passes for all operations at the same time', async () => {
    const { clock, driver } = await throttled({ latencyMs: 5 });
    await clock.run(Promise.all(Array.from({ length: 20 }, () => driver.stat('a', {}))));
    expect(clock.now()).toBe(5);
  });

  it('passes before the operation begins', async () => {
    const { clock, inner, driver } = await throttled({ latencyMs: 5 });
    const writing = driver.write('new', pattern(1), { size: 1 });
    await clock.advance(4);
    expect(await listed(inner, 'new')).toEqual([]);
    await clock.advance(1);
    await writing;
    expect(await listed(inner, 'new')).toHaveLength(1);
  });

  it('passes for an operation that fails, too, and then uses no bandwidth', async () => {
    const { clock, driver } = await throttled({ latencyMs: 5, bytesPerSecond: 1 });
    await expect(clock.run(readFrom(driver, 'missing', 10))).rejects.toEqual(withCode('TIERED_NOT_FOUND'));
    expect(clock.now()).toBe(5);
  });

  it('ends with an abort: the operation never begins, no timer and no listener stays', async () => {
    const { clock, inner, driver } = await throttled({ latencyMs: 5 });
    const controller = new AbortController();
    const outcome = outcomeOf(driver.delete('a', { signal: controller.signal }));
    await clock.advance(3);
    controller.abort(REASON);
    await settled();
    expect(outcome).toEqual({ error: REASON });
    expect(clock.now()).toBe(3);
    expect(clock.sleeping).toBe(0);
    expect(listenersOn(controller.signal)).toBe(0);
    expect(await listed(inner, 'a')).toHaveLength(1);
  });
});

describe('the concurrency of ThrottleDriver', () => {
  it('makes operations queue, latency and transfer included', async () => {
    const { clock, driver } = await throttled({ latencyMs: 10, concurrency: 2 });
    await clock.run(Promise.all(Array.from({ length: 6 }, () => readFrom(driver, 'a', 10))));
    expect(clock.now()).toBe(30);
    const slow = await throttled({ latencyMs: 10, bytesPerSecond: 1000, concurrency: 1 });
    await slow.clock.run(Promise.all([readFrom(slow.driver, 'a', 10), readFrom(slow.driver, 'a', 10)]));
    expect(slow.clock.now()).toBe(40);
  });

  it('is never exceeded at the driver', async () => {
    const holding = new HoldingDriver(await memoryWith({ a: pattern(1) }));
    const driver = new ThrottleDriver(holding, { concurrency: 3 });
    const reads = Array.from({ length: 7 }, () => readFrom(driver, 'a', 1));
    await settled();
    for (const held of [3, 3, 3, 3, 3, 2, 1, 0]) {
      expect(holding.held).toHaveLength(held);
      if (held > 0) await holding.release();
    }
    await Promise.all(reads);
  });

  it('an operation that is aborted while it queues leaves at once, and never reaches the driver', async () => {
    const holding = new HoldingDriver(await memoryWith({ a: pattern(1) }));
    const driver = new ThrottleDriver(holding, { concurrency: 1 });
    const running = readFrom(driver, 'a', 1);
    const controller = new AbortController();
    const waiting = outcomeOf(readFrom(driver, 'a', 1, { signal: controller.signal }));
    await settled();
    controller.abort(REASON);
    await settled();
    expect(waiting).toEqual({ error: REASON });
    await holding.release();
    await running;
    expect(holding.held).toEqual([]);
  });
});
