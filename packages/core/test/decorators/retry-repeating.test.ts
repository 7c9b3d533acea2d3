import { describe, expect, it } from 'vitest';
import type { StorageDriver } from '@tiered/core';
import { LimitDriver, RetryDriver } from '@tiered/core/decorators';
import { FaultDriver, type FaultRule, ManualClock, settled } from '@tiered/core/testing';
import {
  NotingDriver,
  listed,
  listenersOn,
  memoryWith,
  onlyOnce,
  outcomeOf,
  pattern,
  readFrom,
  withCode,
} from '../helpers.js';

/** A retry over noted faults over 2,500 objects, which are several pages, named by their number. */
async function retried(rules: readonly FaultRule[]) {
  const clock = new ManualClock();
  const keys = Array.from({ length: 2500 }, (_, i) => `${i}`);
  const memory = await memoryWith(Object.fromEntries(keys.map((key) => [key, pattern(1)])));
  const noting = new NotingDriver(new FaultDriver(memory, { rules, clock }), clock);
  return { clock, keys, memory, noting, driver: new RetryDriver(noting, { clock }) };
}

const failOn = (...numbers: number[]): FaultRule[] =>
  numbers.map((nth) => ({ operations: ['list', 'write'], nth, fault: { kind: 'fail', code: 'TIERED_IO' } }));

describe('a listing through RetryDriver', () => {
  it('begins again as long as the first page fails, and then gives each object once', async () => {
    const { clock, keys, noting, driver } = await retried(failOn(1, 2));
    const objects = await clock.run(listed(driver));
    expect(objects.map(({ key }) => key).sort()).toEqual(keys.sort());
    expect([noting.listsBegun, noting.listsEnded]).toEqual([3, 3]);
    expect(clock.sleeping).toBe(0);
  });

  it('gives up as other operations do when its first page keeps failing', async () => {
    const { clock, noting, driver } = await retried([{ fault: { kind: 'fail', code: 'TIERED_IO' } }]);
    const expected = { code: 'TIERED_DEADLINE', cause: { code: 'TIERED_IO' }, retryable: false };
    await expect(clock.run(listed(driver))).rejects.toMatchObject(expected);
    expect(noting.listsBegun).toBeGreaterThan(10);
    expect(noting.listsEnded).toBe(noting.listsBegun);
  });

  it('is not begun again after a page was given: the error comes as it is', async () => {
    const { clock, noting, driver } = await retried(failOn(2));
    const pages = driver.list({});
    const first = await clock.run(pages.next());
    expect(first.value?.length).toBeGreaterThan(0);
    const failing = clock.run(pages.next());
    await expect(failing).rejects.toEqual(withCode('TIERED_IO'));
    await expect(failing).rejects.not.toHaveProperty('attempts');
    expect([noting.listsBegun, noting.listsEnded]).toEqual([1, 1]);
    expect(noting.calls).toHaveLength(2);
    expect(clock.now()).toBe(0);
  });

  it('that its consumer leaves early is ended below', async () => {
    const { noting, driver } = await retried([]);
    for await (const page of driver.list({})) {
      expect(page.length).toBeGreaterThan(0);
      break;
    }
    expect([noting.listsBegun, noting.listsEnded]).toEqual([1, 1]);
  });

  it("is ended by the caller's abort at a later page too, and leaves no listener on its signal", async () => {
    const { clock, driver } = await retried([{ operations: ['list'], nth: 2, fault: { kind: 'hang' } }]);
    const controller = new AbortController();
    const pages = driver.list({ signal: controller.signal });
    await clock.run(pages.next());
    const second = outcomeOf(pages.next());
    await settled();
    expect(second).toEqual({});
    const reason = new Error('the caller lost interest');
    controller.abort(reason);
    await settled();
    expect(second).toEqual({ error: reason });
    expect([listenersOn(controller.signal), clock.sleeping]).toEqual([0, 0]);
  });

  it('has a deadline for its first page only: a consumer may take its time', async () => {
    const { clock, keys, driver } = await retried(failOn(1));
    const { signal } = new AbortController();
    const pages = driver.list({ signal });
    let objects = 0;
    for (;;) {
      const page = await clock.run(pages.next());
      if (page.done === true) break;
      objects += page.value.length;
      await clock.advance(100_000);
    }
    expect(objects).toBe(keys.length);
    expect(listenersOn(signal)).toBe(0);
  });

  it('may be empty', async () => {
    const { clock, driver } = await retried(failOn(1));
    expect(await clock.run(listed(driver, 'nothing begins like this'))).toEqual([]);
  });
});

describe('a write through RetryDriver', () => {
  it('of bytes that are all there is made again', async () => {
    const { clock, memory, noting, driver } = await retried(failOn(1, 2, 3));
    await clock.run(driver.write('new', pattern(100), { size: 100 }));
    expect(noting.calls).toEqual(['write', 'write', 'write', 'write']);
    expect(await readFrom(memory, 'new', 1000)).toEqual(pattern(100));
  });

  it('that was made but whose answer was lost is made again, with the same result', async () => {
    const { clock, memory, driver } = await retried([{ nth: 1, fault: { kind: 'fail-after' } }]);
    await clock.run(driver.write('new', pattern(100), { size: 100 }));
    expect(await readFrom(memory, 'new', 1000)).toEqual(pattern(100));
  });

  it('of pieces that come only once is never made again: the error comes as it is', async () => {
    const { clock, memory, noting, driver } = await retried(failOn(1));
    const writing = clock.run(driver.write('new', onlyOnce(pattern(4), pattern(4)), { size: 8 }));
    await expect(writing).rejects.toEqual(withCode('TIERED_IO'));
    await expect(writing).rejects.not.toHaveProperty('attempts');
    expect(noting.calls).toEqual(['write']);
    expect([clock.now(), clock.sleeping]).toEqual([0, 0]);
    await expect(memory.stat('new', {})).rejects.toEqual(withCode('TIERED_NOT_FOUND'));
  });

  it('of pieces works if nothing fails', async () => {
    const { clock, memory, driver } = await retried([]);
    await clock.run(driver.write('new', onlyOnce(pattern(4), pattern(4, 4)), { size: 8 }));
    expect(await readFrom(memory, 'new', 8)).toEqual(pattern(8));
  });
});

describe('an object written in parts through RetryDriver', () => {
  it.each(['fail', 'fail-after'] as const)('is not published a second time: %s', async (kind) => {
    const rules: FaultRule[] = [{ operations: ['publish'], fault: { kind, code: 'TIERED_IO' } }];
    const { clock, memory, noting, driver } = await retried(rules);
    const writer = await driver.create('new', { size: 2 });
    await writer.writeAt(pattern(2), { offset: 0 });
    const publishing = clock.run(writer.publish({}));
    await expect(publishing).rejects.toMatchObject({ code: 'TIERED_IO', retryable: true });
    await expect(publishing).rejects.not.toHaveProperty('attempts');
    expect(noting.calls).toEqual(['create', 'writeAt', 'publish']);
    await writer.discard();
    const there = await memory.stat('new', {}).catch(() => undefined);
    expect(there?.size, 'the answer was lost, not the object').toBe(kind === 'fail' ? undefined : 2);
    expect([clock.now(), clock.sleeping]).toEqual([0, 0]);
  });
});

describe('the order of RetryDriver and LimitDriver', () => {
  /**
   * One slot. An operation that fails once, and one behind it. Whether the second ends before the first's
   * pause.
   */
  async function secondEndsDuringThePause(
    build: (faults: StorageDriver, clock: ManualClock) => StorageDriver,
  ): Promise<boolean> {
    const clock = new ManualClock();
    const rules: FaultRule[] = [{ key: /^failing$/, nth: 1, fault: { kind: 'fail' } }];
    const memory = await memoryWith({ failing: pattern(1), healthy: pattern(1) });
    const driver = build(new FaultDriver(memory, { rules }), clock);
    const first = outcomeOf(readFrom(driver, 'failing', 1));
    const second = outcomeOf(readFrom(driver, 'healthy', 1));
    await settled();
    expect([clock.now(), 'value' in first]).toEqual([0, false]);
    const ended = 'value' in second;
    await clock.advance(1000);
    expect([first, second]).toEqual([{ value: pattern(1) }, { value: pattern(1) }]);
    return ended;
  }

  it('retry outside: during its pause the slot serves others', async () => {
    const limitInside = (faults: StorageDriver, clock: ManualClock) =>
      new RetryDriver(new LimitDriver(faults, { concurrency: 1 }), { clock });
    expect(await secondEndsDuringThePause(limitInside)).toBe(true);
  });

  it('retry inside, the wrong order: its pause holds the slot', async () => {
    const limitOutside = (faults: StorageDriver, clock: ManualClock) =>
      new LimitDriver(new RetryDriver(faults, { clock }), { concurrency: 1 });
    expect(await secondEndsDuringThePause(limitOutside)).toBe(false);
  });
});
