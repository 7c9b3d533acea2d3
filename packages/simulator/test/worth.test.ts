import { fetchModelOf, type CalibrationProfile } from '@tiered/simulator/calibration';
import { savedMsBy } from '@tiered/tiering/plans';
import { describe, expect, it } from 'vitest';

function profileOf(points: [number, number][]): CalibrationProfile {
  return { version: 1, objectBytes: 100_000, source: { name: 'source', read: { points } }, tiers: [] };
}

describe('what a copy saves', () => {
  it('is a share of the latency that was measured, and the bytes', () => {
    // 9 ms and 100 MB/s, with ten reads side by side.
    const model = fetchModelOf(
      profileOf([
        [1, 10],
        [10, 100],
      ]),
    );
    expect(savedMsBy(model)(100_000)).toBeCloseTo(0.9 + 1, 9);
    expect(savedMsBy(model)(0)).toBeCloseTo(0.9, 9);
  });

  it('is the bytes alone where one read has all that there is', () => {
    expect(
      savedMsBy(
        fetchModelOf(
          profileOf([
            [1, 50],
            [4, 50],
          ]),
        ),
      )(50_000),
    ).toBeCloseTo(1, 9);
  });

  it('is assumed where nothing was measured, also by a model of one’s own', () => {
    expect(savedMsBy(undefined)(100_000)).toBe(6);
    expect(savedMsBy({ fetchMs: () => 1 })(100_000)).toBe(6);
  });
});
