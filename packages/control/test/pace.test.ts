import { ManualClock, ticked } from '@tiered/core/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Pace } from '../src/pacing/pace.js';

const request = (bytes: number, isWaitedFor?: () => boolean) => ({ bytes, operations: 1, isWaitedFor });

/** Lets requests of these sizes wait, and notes when each passes. */
async function passesOf(pace: Pace, clock: ManualClock, sizes: readonly number[]) {
  const passes: { at: number; bytes: number }[] = [];
  for (const bytes of sizes) {
    const note = () => void passes.push({ at: clock.now(), bytes });
    const turn = pace.admit(request(bytes));
    if (turn === undefined) note();
    else void turn.then(note);
  }
  return passes;
}

describe('a pace', () => {
  it('[U3] lets everything pass at once without a bound, and makes no promise for it', () => {
    const pace = new Pace(new ManualClock());
    for (let i = 0; i < 100; i++) expect(pace.admit(request(1e12))).toBeUndefined();
    expect(pace.counts).toMatchObject({ operations: 100, waitedMs: 0 });
  });

  it('[U3] lets pass at most its rate, a tenth of a second of it, and one request', async () => {
    const size = fc.integer({ min: 1, max: 200_000 });
    const rate = fc.record({
      bytes: fc.integer({ min: 10_000, max: 10_000_000 }),
      operations: fc.integer({ min: 5, max: 5_000 }),
    });
    await fc.assert(
      fc.asyncProperty(rate, fc.array(size, { minLength: 10, maxLength: 60 }), async (share, sizes) => {
        const clock = new ManualClock(ticked);
        const pace = new Pace(clock);
        pace.set(share);
        const passes = await passesOf(pace, clock, sizes);
        await clock.advance(1e9);
        expect(passes).toHaveLength(sizes.length);
        passes.forEach((from, i) => {
          let bytes = 0;
          passes.slice(i).forEach(({ at, bytes: own }, count) => {
            // What passed from then until just before this one.
            const seconds = (at - from.at) / 1000 + 0.1 + 0.001;
            expect(bytes).toBeLessThanOrEqual(share.bytes * seconds + Math.max(...sizes));
            expect(count).toBeLessThanOrEqual(share.operations * seconds + 2);
            bytes += own;
          });
        });
        expect(clock.sleeping).toBe(0);
      }),
      { numRuns: 30 },
    );
  });

  it('uses all of its rate while requests wait', async () => {
    const clock = new ManualClock(ticked);
    const pace = new Pace(clock);
    pace.set({ bytes: 1_000_000, operations: Infinity });
    const passes = await passesOf(
      pace,
      clock,
      Array.from({ length: 200 }, () => 50_000),
    );
    await clock.advance(10_000);
    const passed = passes.filter(({ at }) => at < 5_000).length * 50_000;
    expect(passed).toBeGreaterThan(0.97 * 5_000_000);
  });

  it('[U3] serves first what somebody waits for, asked at that moment, and the oldest now and then', async () => {
    const clock = new ManualClock(ticked);
    const pace = new Pace(clock);
    pace.set({ bytes: Infinity, operations: 10 });
    expect(pace.admit(request(1))).toBeUndefined();
    const order: string[] = [];
    let isSecondWaitedFor = false;
    const wait = (name: string, isWaitedFor?: () => boolean) =>
      void pace.admit(request(1, isWaitedFor))?.then(() => order.push(name));
    wait('ahead 1', () => false);
    wait('ahead 2', () => isSecondWaitedFor);
    for (let i = 0; i < 9; i++) wait(`reader ${i}`);
    isSecondWaitedFor = true;
    await clock.advance(20_000);
    expect(order[0]).toBe('ahead 2');
    expect(order.slice(1, 4)).toEqual(['reader 0', 'reader 1', 'reader 2']);
    // Nothing that is read ahead stands still for ever.
    expect(order.indexOf('ahead 1')).toBeLessThan(9);
    expect(order).toHaveLength(11);
  });

  it('gives back what a request has not moved', async () => {
    const clock = new ManualClock(ticked);
    const pace = new Pace(clock);
    pace.set({ bytes: 1_000, operations: Infinity });
    void pace.admit(request(100_000));
    let hasPassed = false;
    void pace.admit(request(1))?.then(() => (hasPassed = true));
    await clock.advance(1_000);
    expect(hasPassed).toBe(false);
    pace.ended(request(100_000), 500, 10);
    await clock.advance(10);
    expect(hasPassed).toBe(true);
    expect(pace.counts).toMatchObject({ bytes: 501, requestMs: 10, ended: 1 });
  });

  it('lets a request go that is aborted, and those behind it', async () => {
    const clock = new ManualClock(ticked);
    const pace = new Pace(clock);
    pace.set({ bytes: 1_000, operations: Infinity });
    void pace.admit(request(2_000));
    const abort = new AbortController();
    const aborted = pace.admit(request(1e9), abort.signal);
    const next = pace.admit(request(1));
    abort.abort(new Error('stop'));
    await expect(aborted).rejects.toThrow('stop');
    await clock.advance(3_000);
    await next;
    expect(clock.sleeping).toBe(0);
  });

  it('goes by another rate at once, also from none', async () => {
    const clock = new ManualClock(ticked);
    const pace = new Pace(clock);
    pace.set({ bytes: 0, operations: 0 });
    const turn = pace.admit(request(1));
    await clock.advance(100_000);
    pace.set({ bytes: Infinity, operations: Infinity });
    await turn;
    expect(pace.counts.waitedMs).toBe(100_000);
    expect(clock.sleeping).toBe(0);
  });
});
