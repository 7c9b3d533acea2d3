import { describe, expect, it } from 'vitest';
import { MemoryDriver } from '@tiered/core';
import { HedgeDriver, MetricsDriver, ThrottleDriver, type HedgeDriverOptions } from '@tiered/core/decorators';
import { FaultDriver, type Fault, type FaultRule, ManualClock } from '@tiered/core/testing';
import { memoryWith, outcomeOf, pattern, readFrom, withCode } from '../helpers.js';

const SIZE = 100;
const USUAL_MS = 10;
/** Reads until the percentile 0.5 is known. */
const ENOUGH = 4;

/** The n-th request that reads, also if it is a second one. */
const request = (nth: number, fault: Fault): FaultRule => ({ operations: ['read', 'readInto'], nth, fault });
const delayed = (nth: number, ms: number) => request(nth, { kind: 'delay', ms });

/**
 * Hedges over a source that answers after 10 ms, with faults; as many reads have ended as make it known what
 * is late.
 */
async function hedged(rules: readonly FaultRule[] = [], options: HedgeDriverOptions = {}) {
  const clock = new ManualClock();
  const memory = await memoryWith({ a: pattern(SIZE), b: pattern(100_000) });
  const slow = new ThrottleDriver(memory, { latencyMs: USUAL_MS, clock });
  const metrics = new MetricsDriver(new FaultDriver(slow, { rules, clock }), { clock });
  const driver = new HedgeDriver(metrics, { percentile: 0.5, budget: 1, clock, ...options });
  for (let i = 0; i < ENOUGH; i++) await clock.run(readFrom(driver, 'a', SIZE));
  /** Milliseconds until a promise has ended, and how. */
  const timed = async <T>(promise: Promise<T>) => {
    const start = clock.now();
    const outcome = outcomeOf(promise);
    await clock.run(promise.catch(() => undefined));
    return { ...outcome, ms: clock.now() - start };
  };
  return { clock, memory, metrics, driver, timed };
}

const SECOND = ENOUGH + 1;

describe('HedgeDriver', () => {
  it.each<HedgeDriverOptions>([
    { budget: 0 },
    { budget: 1.1 },
    { budget: Number.NaN },
    { percentile: 0.4 },
    { percentile: 1 },
    { percentile: Number.NaN },
    { minDelayMs: -1 },
    { minDelayMs: Infinity },
    { memory: 'much' },
  ])('refuses %o', (options) => {
    expect(() => new HedgeDriver(new MemoryDriver(), options)).toThrow(withCode('TIERED_CONFIG_INVALID'));
  });

  it('gives a late read a second request, and the caller the first answer', async () => {
    const { clock, metrics, driver, timed } = await hedged([delayed(SECOND, 90)]);
    expect(await timed(readFrom(driver, 'a', SIZE))).toEqual({ value: pattern(SIZE), ms: 2 * USUAL_MS });
    expect(driver.metrics()).toMatchObject({ reads: ENOUGH + 1, hedges: 1, won: 1, lost: 0, isOff: false });
    expect(metrics.metrics().operations.read).toMatchObject({ count: ENOUGH + 2, errors: 1 });
    expect([metrics.metrics().active, clock.sleeping]).toEqual([0, 0]);
  });

  it('also into memory of the caller', async () => {
    const { metrics, driver, timed } = await hedged([delayed(SECOND, 90)]);
    const memory = new Uint8Array(SIZE + 20).fill(0xaa);
    const target = memory.subarray(10, SIZE + 10);
    const read = driver.readInto('a', target, { offset: 30 });
    expect(await timed(read)).toEqual({ value: 70, ms: 2 * USUAL_MS });
    const expected = new Uint8Array(SIZE + 20).fill(0xaa);
    expected.set(pattern(70, 30), 10);
    expect(memory).toEqual(expected);
    expect(driver.metrics()).toMatchObject({ hedges: 1, won: 1 });
    expect(metrics.metrics()).toMatchObject({ active: 0, operations: { readInto: { errors: 1 } } });
  });

  it('keeps the answer of the first request if that comes first, and aborts the second', async () => {
    const { clock, metrics, driver, timed } = await hedged([delayed(SECOND, 5)]);
    expect(await timed(readFrom(driver, 'a', SIZE))).toEqual({ value: pattern(SIZE), ms: 15 });
    expect(driver.metrics()).toMatchObject({ hedges: 1, won: 0, lost: 1 });
    expect(metrics.metrics()).toMatchObject({ active: 0, operations: { read: { errors: 1 } } });
    expect(clock.sleeping).toBe(0);
  });

  it('makes no second request of a read that is not late', async () => {
    const { clock, metrics, driver, timed } = await hedged();
    expect(await timed(readFrom(driver, 'a', SIZE))).toMatchObject({ ms: USUAL_MS });
    expect(metrics.metrics().operations.read).toMatchObject({ count: ENOUGH + 1, errors: 0 });
    expect([driver.metrics().hedges, clock.sleeping]).toEqual([0, 0]);
  });

  it('knows of no late reads before enough of like size have ended', async () => {
    const { driver, timed } = await hedged([SECOND, SECOND + ENOUGH].map((nth) => delayed(nth, 90)));
    const other = () => timed(readFrom(driver, 'b', 100_000));
    expect(await other()).toMatchObject({ ms: 100 });
    for (let i = 1; i < ENOUGH; i++) await other();
    expect(await other()).toMatchObject({ ms: 2 * USUAL_MS });
    expect(driver.metrics()).toMatchObject({ hedges: 1 });
  });

  it('does not count failures and reads of nobody among what reads take', async () => {
    const rules = Array.from({ length: 20 }, (_, i) => request(SECOND + i, { kind: 'fail' }));
    const { driver, timed } = await hedged([...rules, delayed(SECOND + 20, 90)]);
    for (let i = 0; i < 20; i++) expect(await timed(readFrom(driver, 'a', SIZE))).toMatchObject({ ms: 0 });
    expect(await timed(readFrom(driver, 'a', SIZE))).toMatchObject({ ms: 2 * USUAL_MS });
  });

  it('waits for minDelayMs at least', async () => {
    const { driver, timed } = await hedged([delayed(SECOND, 90)], { minDelayMs: 25 });
    expect(await timed(readFrom(driver, 'a', SIZE))).toMatchObject({ ms: 35 });
  });

  it('asks for the version that the caller asked for, in both requests', async () => {
    const { clock, memory, driver } = await hedged([delayed(SECOND, 90), delayed(SECOND + 2, 90)]);
    const { version } = await memory.stat('a', {});
    const options = { offset: 0, length: SIZE, version };
    const first = outcomeOf(driver.read('a', options));
    const second = outcomeOf(driver.readInto('a', new Uint8Array(SIZE), options));
    await clock.advance(5);
    await memory.write('a', pattern(SIZE, 7), { size: SIZE });
    await clock.advance(1000);
    expect(first.error).toEqual(withCode('TIERED_SOURCE_CHANGED'));
    expect(second.error).toEqual(withCode('TIERED_SOURCE_CHANGED'));
  });

  it('hedges each read of a batch, and nothing else', async () => {
    const { clock, driver, metrics, timed } = await hedged([delayed(SECOND, 90)]);
    const target = new Uint8Array(SIZE);
    const requests = [{ key: 'a', offset: 0, target }];
    expect(await timed(driver.readMany(requests, {}))).toMatchObject({ value: [{ bytes: SIZE }], ms: 20 });
    const writer = await clock.run(driver.create('c', { size: SIZE }));
    await clock.run(writer.writeAt(pattern(SIZE), { offset: 0 }));
    await clock.run(writer.readInto(target, { offset: 0 }));
    await clock.run(writer.publish({}));
    await clock.run(driver.stat('a', {}));
    expect(driver.metrics()).toMatchObject({ reads: ENOUGH + 1, hedges: 1 });
    expect(metrics.metrics().operations).toMatchObject({ read: { count: ENOUGH + 1 }, stat: { count: 1 } });
  });
});
