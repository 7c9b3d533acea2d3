import { describe, expect, it } from 'vitest';
import { MetricsDriver, RetryDriver, ThrottleDriver } from '@tiered/core/decorators';
import { FaultDriver, type FaultRule, HoldingDriver, ManualClock, settled } from '@tiered/core/testing';
import { memoryWith, onlyOnce, pattern, readFrom } from '../helpers.js';

/** Metrics on a driver that takes 10 ms an operation and one ms a byte, with faults. */
async function measured(rules: readonly FaultRule[] = []) {
  const clock = new ManualClock();
  const inner = await memoryWith({ a: pattern(100), b: pattern(50) });
  const slow = new ThrottleDriver(inner, { latencyMs: 10, bytesPerSecond: 1000, clock });
  const driver = new MetricsDriver(new FaultDriver(slow, { rules, clock }), { clock });
  return { clock, inner, driver };
}

describe('MetricsDriver', () => {
  it('has nothing to tell at first', async () => {
    const { driver } = await measured();
    expect(driver.metrics()).toEqual({ operations: {}, active: 0 });
  });

  it('counts calls, bytes that were moved, and durations, per operation', async () => {
    const { clock, driver } = await measured();
    const target = new Uint8Array(80);
    await clock.run(readFrom(driver, 'a', 30));
    await clock.run(driver.read('a', { offset: 95, length: 30 }));
    await clock.run(driver.readInto('b', target, { offset: 0 }));
    await clock.run(driver.write('c', pattern(7), { size: 7 }));
    await clock.run(driver.write('d', onlyOnce(pattern(2), pattern(1)), { size: 3 }));
    await clock.run(driver.stat('a', {}));
    await clock.run(driver.open({}));
    const writer = await clock.run(driver.create('e', { size: 9 }));
    await clock.run(writer.writeAt(pattern(5), { offset: 0 }));
    await clock.run(writer.writeAt(pattern(4), { offset: 5 }));
    await clock.run(writer.publish({}));
    await clock.run(driver.openIndex({}));
    await clock.run(driver.delete('d', {}));
    await clock.run(driver.usage({}));
    const small = { count: 1, errors: 0, bytes: 0, totalMs: 10, maxMs: 10 };
    expect(driver.metrics()).toEqual({
      active: 0,
      operations: {
        read: { count: 2, errors: 0, bytes: 35, totalMs: 55, maxMs: 40 },
        readInto: { count: 1, errors: 0, bytes: 50, totalMs: 60, maxMs: 60 },
        write: { count: 2, errors: 0, bytes: 10, totalMs: 30, maxMs: 17 },
        stat: small,
        open: small,
        create: small,
        writeAt: { count: 2, errors: 0, bytes: 9, totalMs: 29, maxMs: 15 },
        publish: small,
        openIndex: small,
        delete: small,
        usage: small,
      },
    });
  });

  it('counts each request of a batch as the readInto that it is', async () => {
    const { clock, driver } = await measured();
    const requests = ['a', 'b', 'missing'].map((key) => ({ key, offset: 0, target: new Uint8Array(5) }));
    await clock.run(driver.readMany(requests, {}));
    expect(driver.metrics().operations).toEqual({
      readInto: { count: 3, errors: 1, bytes: 10, totalMs: 10 + 15 + 20, maxMs: 20 },
    });
  });

  it('counts a call that failed, its duration and its error, and no bytes', async () => {
    const { clock, driver } = await measured([
      { operations: ['read'], nth: 2, fault: { kind: 'fail-after' } },
    ]);
    await clock.run(readFrom(driver, 'a', 5));
    await expect(clock.run(readFrom(driver, 'a', 30))).rejects.toThrow();
    await expect(clock.run(readFrom(driver, 'missing', 30))).rejects.toThrow();
    expect(driver.metrics().operations.read).toEqual({
      count: 3,
      errors: 2,
      bytes: 5,
      totalMs: 15 + 40 + 10,
      maxMs: 40,
    });
  });

  it('counts a call that was aborted as one that failed', async () => {
    const { clock, driver } = await measured([{ fault: { kind: 'hang' } }]);
    const controller = new AbortController();
    const reading = readFrom(driver, 'a', 5, { signal: controller.signal });
    await clock.advance(7);
    controller.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
    expect(driver.metrics()).toEqual({
      active: 0,
      operations: { read: { count: 1, errors: 1, bytes: 0, totalMs: 7, maxMs: 7 } },
    });
  });

  it('counts a listing page by page, as the pages are asked for, and the fetching of pages only', async () => {
    const { clock, inner, driver } = await measured();
    for (let i = 0; i < 2000; i++) await inner.write(`${i}`, new Uint8Array(0), { size: 0 });
    const pages = driver.list({});
    const lists = () => driver.metrics().operations.list;
    expect(lists()).toBeUndefined();
    await clock.run(pages.next());
    expect(lists()).toMatchObject({ count: 1, errors: 0, bytes: 0, totalMs: 10 });
    await clock.advance(500);
    await clock.run(pages.next());
    expect(lists()).toMatchObject({ count: 2, errors: 0, bytes: 0, totalMs: 20, maxMs: 10 });
    await pages.return();
    expect(lists()).toMatchObject({ count: 2 });
  });

  it('a page that fails is an error of list', async () => {
    const { clock, driver } = await measured([{ operations: ['list'], fault: { kind: 'fail' } }]);
    await expect(clock.run(driver.list({}).next())).rejects.toThrow();
    expect(driver.metrics().operations.list).toMatchObject({ count: 1, errors: 1 });
  });

  it('tells how many operations are under way', async () => {
    const holding = new HoldingDriver(await memoryWith({ a: pattern(1) }));
    const driver = new MetricsDriver(holding);
    const reads = [
      readFrom(driver, 'a', 1),
      readFrom(driver, 'a', 1),
      driver.stat('missing', {}).catch(() => 0),
    ];
    await settled();
    expect(driver.metrics().active).toBe(3);
    await holding.release();
    expect(driver.metrics().active).toBe(2);
    await holding.releaseAll();
    await Promise.all(reads);
    expect(driver.metrics().active).toBe(0);
  });

  it('gives snapshots: one that was taken does not change any more', async () => {
    const { clock, driver } = await measured();
    await clock.run(driver.stat('a', {}));
    const before = driver.metrics();
    await clock.run(driver.stat('a', {}));
    expect(before.operations.stat?.count).toBe(1);
    expect(driver.metrics().operations.stat?.count).toBe(2);
  });

  it('sees every try inside a RetryDriver, and what the caller sees outside', async () => {
    const clock = new ManualClock();
    const rules: FaultRule[] = [1, 2].map((nth) => ({ operations: ['read'], nth, fault: { kind: 'fail' } }));
    const faults = new FaultDriver(await memoryWith({ a: pattern(9) }), { rules });
    const inside = new MetricsDriver(faults, { clock });
    const outside = new MetricsDriver(new RetryDriver(inside, { clock }), { clock });
    await clock.run(readFrom(outside, 'a', 9));
    expect(inside.metrics().operations.read).toMatchObject({ count: 3, errors: 2, bytes: 9, totalMs: 0 });
    expect(outside.metrics().operations.read).toMatchObject({ count: 1, errors: 0, bytes: 9 });
    expect(outside.metrics().operations.read?.totalMs).toBe(clock.now());
  });
});
