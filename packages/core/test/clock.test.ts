import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { systemClock } from '@tiered/core';
import { ManualClock, settled } from '@tiered/core/testing';
import { listenersOn, outcomeOf } from './helpers.js';

const HOUR = 3_600_000;

/** Timers of this process that have not fired. */
const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;

describe('systemClock', () => {
  it('never goes back', () => {
    let last = systemClock.now();
    for (let i = 0; i < 10_000; i++) {
      const now = systemClock.now();
      expect(now >= last).toBe(true);
      last = now;
    }
  });

  it.each([0, -5])('sleep(%d) yields once and then ends', async (ms) => {
    const order: string[] = [];
    const sleeping = systemClock.sleep(ms).then(() => order.push('slept'));
    order.push('went on');
    await sleeping;
    expect(order).toEqual(['went on', 'slept']);
  });

  it('wakes the shorter sleep first', async () => {
    const order: number[] = [];
    const sleeps = [30, 1].map((ms) => systemClock.sleep(ms).then(() => order.push(ms)));
    await Promise.all(sleeps);
    expect(order).toEqual([1, 30]);
  });

  it('aborting a sleep rejects with the reason and leaves neither timer nor listener behind', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const before = timers();
    const sleeping = systemClock.sleep(HOUR, controller.signal);
    expect(timers()).toBe(before + 1);
    controller.abort(reason);
    expect(timers()).toBe(before);
    await expect(sleeping).rejects.toBe(reason);
    expect(listenersOn(controller.signal)).toBe(0);
  });

  it('does not begin to sleep if the signal has aborted already', async () => {
    const reason = new Error('too late');
    const signal = AbortSignal.abort(reason);
    const before = timers();
    const sleeping = systemClock.sleep(HOUR, signal);
    expect(timers()).toBe(before);
    await expect(sleeping).rejects.toBe(reason);
    expect(listenersOn(signal)).toBe(0);
  });

  it('a sleep in the background does not keep the process alive, and ends as any other', async () => {
    const before = timers();
    const behind = systemClock.sleep(1, undefined, { background: true });
    expect(timers()).toBe(before);
    await systemClock.sleep(5);
    await behind;
  });

  it('leaves no listener behind after a sleep that ended', async () => {
    const { signal } = new AbortController();
    await systemClock.sleep(0, signal);
    expect(listenersOn(signal)).toBe(0);
  });

  it.each([2 ** 31, 30 * 24 * HOUR])(
    'does not wake early from a sleep that is longer than a timer of Node can be (%d ms)',
    async (ms) => {
      const controller = new AbortController();
      const long = outcomeOf(systemClock.sleep(ms, controller.signal).then(() => 'woke'));
      await systemClock.sleep(20);
      controller.abort();
      expect(long.value).toBeUndefined();
    },
  );
});

describe('ManualClock', () => {
  it('stands still until told to move', async () => {
    const clock = new ManualClock();
    const sleep = outcomeOf(clock.sleep(1).then(() => 'woke'));
    await settled();
    expect(clock.now()).toBe(0);
    expect(sleep).toEqual({});
    expect(clock.sleeping).toBe(1);
    await clock.advance(1);
    expect(sleep).toEqual({ value: 'woke' });
    expect(clock.now()).toBe(1);
    expect(clock.sleeping).toBe(0);
  });

  it('wakes who is due, at the time at which it is due, ties in the order in which they were asked for', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: -3, max: 50 })), async (durations) => {
        const clock = new ManualClock();
        const woken: { index: number; at: number }[] = [];
        for (const [index, ms] of durations.entries()) {
          void clock.sleep(ms).then(() => woken.push({ index, at: clock.now() }));
        }
        await clock.advance(40);
        const due = durations.map((ms, index) => ({ index, at: Math.max(0, ms) }));
        const expected = due.filter(({ at }) => at <= 40).sort((a, b) => a.at - b.at || a.index - b.index);
        expect(woken).toEqual(expected);
        expect(clock.sleeping).toBe(due.length - expected.length);
        expect(clock.now()).toBe(40);
      }),
      { numRuns: 50 },
    );
  });

  it('advance also wakes those who fall asleep on the way', async () => {
    const clock = new ManualClock();
    const times: number[] = [];
    const walk = async () => {
      for (let i = 0; i < 4; i++) {
        await clock.sleep(10);
        times.push(clock.now());
      }
    };
    const walking = walk();
    await clock.advance(35);
    expect(times).toEqual([10, 20, 30]);
    await clock.advance(5);
    await walking;
    expect(times).toEqual([10, 20, 30, 40]);
  });

  it('run moves time as far as the promise needs, and no further', async () => {
    const clock = new ManualClock();
    const other = outcomeOf(clock.sleep(1000));
    expect(await clock.run(clock.sleep(10).then(() => clock.sleep(5).then(() => 'done')))).toBe('done');
    expect(clock.now()).toBe(15);
    expect(other).toEqual({});
    expect(clock.sleeping).toBe(1);
  });

  it('run leaves those in the background asleep, and advance wakes them', async () => {
    const clock = new ManualClock();
    const behind = outcomeOf(clock.sleep(5, undefined, { background: true }).then(() => 'woke'));
    expect([clock.sleeping, clock.sleepingInBackground]).toEqual([0, 1]);
    await clock.run(clock.sleep(10));
    expect(behind).toEqual({});
    await clock.advance(0);
    expect(behind.value).toBe('woke');
    expect(clock.sleepingInBackground).toBe(0);
  });

  it('run rejects as the promise does', async () => {
    const clock = new ManualClock();
    const failure = new Error('broken');
    const failing = clock.sleep(10).then(() => {
      throw failure;
    });
    await expect(clock.run(failing)).rejects.toBe(failure);
    expect(clock.now()).toBe(10);
  });

  it('aborting a sleep rejects with the reason and leaves neither sleeper nor listener behind', async () => {
    const clock = new ManualClock();
    const controller = new AbortController();
    const reason = new Error('enough');
    const sleeping = clock.sleep(10, controller.signal);
    controller.abort(reason);
    expect(clock.sleeping).toBe(0);
    await expect(sleeping).rejects.toBe(reason);
    expect(listenersOn(controller.signal)).toBe(0);
    await expect(clock.sleep(10, controller.signal)).rejects.toBe(reason);
    expect(clock.sleeping).toBe(0);
  });

  it('leaves no listener behind after a sleep that ended', async () => {
    const clock = new ManualClock();
    const { signal } = new AbortController();
    await clock.run(clock.sleep(10, signal));
    expect(listenersOn(signal)).toBe(0);
  });
});
