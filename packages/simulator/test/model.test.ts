import {
  ault,
  fetchFromSource,
  fetchLocal,
  fetchRemote,
  throughput,
  write,
  type StorageClass,
  type ThroughputCurve,
} from '@tiered/simulator/model';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { avail, consumed, read } from './helpers.js';

const [ram, ssd] = ault.levels as [StorageClass, StorageClass];

const curve = fc.uniqueArray(fc.integer({ min: 1, max: 64 }), { minLength: 1, maxLength: 6 }).chain((ats) =>
  fc
    .array(fc.double({ min: 1, max: 1e4, noNaN: true }), { minLength: ats.length, maxLength: ats.length })
    .map((rates): ThroughputCurve => ({
      points: ats.sort((a, b) => a - b).map((at, i): [number, number] => [at, rates[i] ?? 1]),
    })),
);

describe('throughput', () => {
  it('is what was measured where it was measured', () => {
    fc.assert(
      fc.property(curve, (one) => {
        for (const [at, rate] of one.points) expect(throughput(one, at)).toBeCloseTo(rate, 6);
      }),
    );
  });

  it('lies between its neighbours in between', () => {
    fc.assert(
      fc.property(curve, fc.double({ min: 0, max: 1, noNaN: true }), (one, part) => {
        for (const [i, [at, rate]] of one.points.entries()) {
          const [before, rateBefore] = one.points[i - 1] ?? [0, 0];
          const between = throughput(one, before + part * (at - before) || at);
          expect(between).toBeGreaterThanOrEqual(Math.min(rate, rateBefore) - 1e-6);
          expect(between).toBeLessThanOrEqual(Math.max(rate, rateBefore) + 1e-6);
        }
      }),
    );
  });

  it('holds beyond the last point, or goes on as the regression rises, and never falls', () => {
    fc.assert(
      fc.property(curve, fc.integer({ min: 0, max: 100 }), (one, more) => {
        const [last, rate] = one.points.at(-1) ?? [0, 0];
        expect(throughput(one, last + more)).toBeCloseTo(rate, 6);
        expect(throughput({ ...one, beyond: 'linear' }, last + more)).toBeGreaterThanOrEqual(rate - 1e-6);
      }),
    );
    // By hand: the slope through (1, 66), (2, 86), (3, 129), (4, 146) is 28.3.
    expect(throughput({ ...ault.source, beyond: 'linear' }, 14)).toBeCloseTo(146 + 283, 6);
  });

  it('trusts fewer threads than measured to their part', () => {
    expect(throughput(ssd.read, 1)).toBe(43);
  });
});

describe('the performance model', () => {
  it('gives the figures of the paper its units', () => {
    // 36.5 MB of 146 MB/s for 4 workers, 43 MB of 86 MB/s for 2 threads, 10,000 MB over the network or by
    // half of RAM.
    expect(fetchFromSource(ault, 36.5, 4)).toBeCloseTo(1);
    expect(fetchLocal(43, ssd)).toBeCloseTo(1);
    expect(fetchRemote(ault, 10_000, ram)).toBeCloseTo(1);
    expect(fetchLocal(10_582, ram)).toBeCloseTo(1);
    expect(write(ault, 200)).toBeCloseTo(1);
    expect(read(ault, 200, 2)).toBeCloseTo(3);
    expect(avail(ault, [1, 2, 3])).toBeCloseTo(3);
  });

  it('never fetches faster with more readers, from farther away, or for larger samples', () => {
    const size = fc.double({ min: 0.001, max: 1e4, noNaN: true });
    fc.assert(
      fc.property(size, fc.integer({ min: 1, max: 63 }), size, (mb, gamma, more) => {
        expect(fetchFromSource(ault, mb, gamma + 1)).toBeGreaterThanOrEqual(fetchFromSource(ault, mb, gamma));
        for (const level of [ram, ssd]) {
          expect(fetchRemote(ault, mb, level)).toBeGreaterThanOrEqual(fetchLocal(mb, level));
          expect(fetchLocal(mb + more, level)).toBeGreaterThan(fetchLocal(mb, level));
        }
        expect(write(ault, mb + more)).toBeGreaterThan(write(ault, mb));
      }),
    );
  });

  it('stores as slowly as preprocessing or writing, whichever is slower', () => {
    const slow = { ...ault.staging, write: { points: [[2, 100] as const] } };
    expect(write({ ...ault, staging: slow }, 50)).toBeCloseTo(1);
    expect(fetchLocal(50, slow)).toBe(fetchLocal(50, ault.staging));
  });

  it('consumes a sample when it is there and the one before it is done', () => {
    const before = { consumedAt: 10, sizeMB: 100 };
    expect(consumed(ault, 5, before)).toBeCloseTo(11);
    expect(consumed(ault, 12, before)).toBeCloseTo(12);
  });
});
