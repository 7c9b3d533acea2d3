import { describe, expect, it } from 'vitest';
import { MeasuredBudget } from '../src/stage/measured-budget.js';

/**
 * A source that gives so many bytes a second, and 2 ms of latency: what is asked beyond that waits in a queue
 * of at most `queued` bytes, since jobs have only so many requests.
 */
function modelSource(queued: number) {
  let queue = 0;
  return {
    /** Half a second in which jobs ask for so many bytes a second. */
    half: (asked: number, capacity: number) => {
      const given = Math.min(capacity, asked + queue * 2);
      queue = Math.min(queued, Math.max(0, queue + (asked - given) / 2));
      return { bytes: given, requestMs: 2 + (queue / capacity) * 1000 };
    },
  };
}

interface Run {
  readonly budget: MeasuredBudget;
  /** What the source gave in each half second. */
  readonly given: number[];
  readonly requestMs: number[];
}

/** Jobs that want `wanted` bytes a second, for so many half seconds. */
function runOf(halves: number, wanted: number, capacityAt: (half: number) => number): Run {
  const source = modelSource(5e6);
  const budget = new MeasuredBudget();
  const [given, requestMs]: [number[], number[]] = [[], []];
  for (let half = 0; half < halves; half++) {
    const asked = Math.min(wanted, budget.bytes ?? Infinity);
    const load = { ...source.half(asked, capacityAt(half)), requestBytes: 100_000 };
    given.push(load.bytes);
    requestMs.push(load.requestMs);
    budget.look({ ...load, isBound: asked < wanted, areSeveral: true });
  }
  return { budget, given, requestMs };
}

const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;

describe('a budget that is measured', () => {
  it('is where more requests only wait for each other, and uses nearly all of the source', () => {
    const { budget, given, requestMs } = runOf(120, 1e9, () => 100e6);
    expect(budget.bytes).toBeGreaterThan(90e6);
    expect(budget.bytes).toBeLessThan(110e6);
    expect(mean(given.slice(40))).toBeGreaterThan(97e6);
    // Without it, the queue is always full: 52 ms.
    expect(mean(requestMs.slice(40))).toBeLessThan(15);
  });

  it('follows a source that others use as well, down and up again', () => {
    const { given } = runOf(360, 1e9, (half) => (half >= 120 && half < 240 ? 40e6 : 100e6));
    expect(mean(given.slice(160, 240))).toBeGreaterThan(37e6);
    expect(mean(given.slice(300))).toBeGreaterThan(95e6);
  });

  it('does not grow while nobody wants more, and bounds nobody who wants less', () => {
    const { budget, given } = runOf(120, 30e6, () => 100e6);
    expect(mean(given.slice(40))).toBeCloseTo(30e6, -3);
    expect(budget.bytes).toBeLessThan(65e6);
  });

  it('is found within seconds, if jobs that read little begin to read much', () => {
    const source = modelSource(5e6);
    const budget = new MeasuredBudget();
    const given = Array.from({ length: 40 }, (_, half) => {
      const wanted = half < 10 ? 100_000 : 1e9;
      const asked = Math.min(wanted, budget.bytes ?? Infinity);
      const load = { ...source.half(asked, 150e6), requestBytes: 100_000 };
      budget.look({ ...load, isBound: asked < wanted, areSeveral: true });
      return load.bytes;
    });
    expect(mean(given.slice(25))).toBeGreaterThan(140e6);
  });

  it('is not cut because requests are larger now, nor by one that was slow in a pause', () => {
    const budget = new MeasuredBudget();
    const look = (bytes: number, requestBytes: number, requestMs: number, isBound = true) =>
      budget.look({ bytes, requestBytes, requestMs, isBound, areSeveral: true });
    for (let i = 0; i < 20; i++) look(100e6, 2_000, 1, false);
    const before = budget.bytes ?? 0;
    for (let i = 0; i < 200; i++) look(100e6, 4_000_000, 40, false);
    expect(budget.bytes).toBe(before);
    look(1000, 4_000_000, 5_000, false);
    expect(budget.bytes).toBe(before);
    // Even where it only ever gets slower, some of it is left.
    for (let i = 0; i < 1000; i++) look(Math.min(100e6, budget.bytes ?? 0), 2_000, 10 * (i + 1));
    expect(budget.bytes).toBeGreaterThan(1e6);
  });

  it('is nothing while one job is alone, and while nobody reads', () => {
    const budget = new MeasuredBudget();
    budget.look({ bytes: 1e6, requestMs: 2, requestBytes: 1000, isBound: false, areSeveral: false });
    budget.look({ bytes: 0, requestMs: undefined, requestBytes: 0, isBound: false, areSeveral: true });
    expect(budget.bytes).toBeUndefined();
  });
});
