import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryDriver, ThrottleDriver, type Clock, type ThrottleDriverOptions } from '@tiered/core';
import { ManualClock } from '@tiered/core/testing';
import {
  HoldingDriver,
  listed,
  listenersOn,
  memoryWith,
  onlyOnce,
  outcomeOf,
  pattern,
  readFrom,
  settled,
  withCode,
} from '../helpers.js';

const REASON = new Error('the caller lost interest');

/** A throttle on a clock of its own over `a` (100 bytes) and `big` (1,000 bytes). */
async function throttled(options: Omit<ThrottleDriverOptions, 'clock'>) {
  const clock = new ManualClock();
  const inner = await memoryWith({ a: pattern(100), big: pattern(1000) });
  return { clock, inner, driver: new ThrottleDriver(inner, { ...options, clock }) };
}

/** A clock whose timers all fire late, as those of a busy event loop do. */
class LateClock implements Clock {
  constructor(
    readonly manual: ManualClock,
    readonly lateMs: number,
  ) {}
  now = () => this.manual.now();
  sleep = (ms: number, signal?: AbortSignal) => this.manual.sleep(ms + this.lateMs, signal);
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
    const writing = driver.write('b', pattern(1), { size: 1 });
    await clock.advance(4);
    expect(await listed(inner, 'b')).toEqual([]);
    await clock.advance(1);
    await writing;
    expect(await listed(inner, 'b')).toHaveLength(1);
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

describe('the bandwidth of ThrottleDriver', () => {
  it('is shared: k reads of b bytes at once take k * b / rate', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 12 }),
        fc.nat({ max: 1000 }),
        fc.integer({ min: 1, max: 1e6 }),
        async (k, b, rate) => {
          const { clock, driver } = await throttled({ bytesPerSecond: rate });
          await clock.run(Promise.all(Array.from({ length: k }, () => readFrom(driver, 'big', b))));
          expect(clock.now()).toBeCloseTo((k * b * 1000) / rate, 6);
          expect(clock.sleeping).toBe(0);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('bytes pass one operation after the other, in the order in which the operations came', async () => {
    const { clock, driver } = await throttled({ bytesPerSecond: '1 kB' });
    const times: [string, number][] = [];
    const note = (name: string) => () => times.push([name, clock.now()]);
    await clock.run(
      Promise.all([
        readFrom(driver, 'a', 10).then(note('read')),
        driver.readInto('a', new Uint8Array(20), { offset: 90 }).then(note('readInto of 10 left')),
        driver.write('b', pattern(30), { size: 30 }).then(note('write')),
        driver.write('c', onlyOnce(pattern(2), pattern(3)), { size: 5 }).then(note('write in pieces')),
        driver.stat('a', {}).then(note('stat')),
      ]),
    );
    expect(times).toEqual([
      ['stat', 0],
      ['read', 10],
      ['readInto of 10 left', 20],
      ['write', 50],
      ['write in pieces', 55],
    ]);
  });

  it('is not saved up while nothing is read', async () => {
    const { clock, driver } = await throttled({ bytesPerSecond: 1000 });
    await clock.advance(10_000);
    await clock.run(readFrom(driver, 'a', 100));
    expect(clock.now()).toBe(10_100);
  });

  it('timers that fire late cost no throughput as long as another operation is under way', async () => {
    const manual = new ManualClock();
    const inner = await memoryWith({ a: pattern(100) });
    const driver = new ThrottleDriver(inner, { bytesPerSecond: 1000, clock: new LateClock(manual, 30) });
    const reader = async () => {
      for (let i = 0; i < 10; i++) await readFrom(driver, 'a', 100);
    };
    await manual.run(Promise.all([reader(), reader()]));
    // 20 reads of 100 ms; only the last timer's lateness shows.
    expect(manual.now()).toBe(2030);
  });

  it('an abort during the transfer rejects at once and leaves no timer behind', async () => {
    const { clock, driver } = await throttled({ bytesPerSecond: 1000 });
    const controller = new AbortController();
    const outcome = outcomeOf(readFrom(driver, 'a', 100, { signal: controller.signal }));
    await clock.advance(50);
    controller.abort(REASON);
    await settled();
    expect(outcome).toEqual({ error: REASON });
    expect(clock.sleeping).toBe(0);
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
    while (holding.held.length > 0) await holding.releaseOldest();
    await Promise.all(reads);
    expect(holding.mostHeld).toBe(3);
  });
});
