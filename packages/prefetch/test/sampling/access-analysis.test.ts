import {
  accessAnalysis,
  accessDistribution,
  frequencyTable,
  globalBatchSampler,
} from '@tiered/prefetch/sampling';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withCode } from '../helpers.js';

const sum = (numbers: Iterable<number>) => [...numbers].reduce((all, one) => all + one, 0);

/** The example of the paper's section 3.2. */
const paper = { workers: 4, epochs: 1_000, samples: 10_000, delta: 0.1 };

/** n over k, exactly. */
function choose(n: number, k: number): bigint {
  let result = 1n;
  for (let i = 1; i <= k; i++) result = (result * BigInt(n - k + i)) / BigInt(i);
  return result;
}

describe('accessAnalysis', () => {
  it('expects 323 of 10,000 samples more than 275 times, as the paper does', () => {
    const { mean, threshold, probability, expected, distribution } = accessAnalysis(paper);
    expect([mean, threshold]).toEqual([250, 276]);
    expect(expected).toBeCloseTo(322.937, 3);
    expect(probability).toBeCloseTo(0.0322937, 7);
    expect(distribution).toHaveLength(1_001);
    expect(accessAnalysis({ ...paper, delta: undefined }).expected).toBe(expected);
  });

  it('agrees with what a sampler reads: figure 2', async () => {
    const sampler = globalBatchSampler({ ...paper, seed: 1, batchSize: 32 });
    const counted = accessDistribution(await frequencyTable(sampler, 0));
    const { threshold, expected, distribution } = accessAnalysis(paper);
    const more = sum(counted.subarray(threshold));
    // Three standard deviations of a count of 323.
    expect(Math.abs(more - expected)).toBeLessThan(54);
    expect(sum(counted)).toBe(10_000);
    const apart = [...distribution].map((samples, reads) => Math.abs(samples - (counted[reads] ?? 0)));
    // Each bar differs by the root of its length, which adds up to some 9 % here.
    expect(sum(apart) / 10_000).toBeLessThan(0.12);
  });

  it('is the binomial distribution, to 12 digits', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 20 }), (epochs, workers) => {
        const { distribution } = accessAnalysis({ epochs, workers, samples: 1 });
        const all = BigInt(workers) ** BigInt(epochs);
        for (const [k, part] of distribution.entries()) {
          const ways = choose(epochs, k) * BigInt(workers - 1) ** BigInt(epochs - k);
          const exact = Number(ways) / Number(all);
          expect(Math.abs(part - exact)).toBeLessThanOrEqual(exact * 1e-12);
        }
      }),
    );
  });

  it('adds up, and its mean is E / N, however many epochs', () => {
    for (const [epochs, workers] of [
      [1, 1],
      [90, 1],
      [90, 32],
      [100_000, 7],
      [100_000, 50_000],
    ] as const) {
      const { mean, distribution } = accessAnalysis({ epochs, workers, samples: 1_000 });
      expect(sum(distribution)).toBeCloseTo(1_000, 6);
      expect(sum(distribution.map((samples, k) => samples * k)) / 1_000 / mean).toBeCloseTo(1, 9);
    }
  });

  it.each([
    // (1 + 0.1) x 250 is 275.00000000000006 as a double, and (1 + 0.15) x 20 is 22.999999999999996.
    [1_000, 4, 0.1, 276],
    [20, 1, 0.15, 24],
    [20, 1, 0.16, 24],
    [10, 4, 0, 3],
    [8, 4, 0, 3],
  ])('%d epochs, %d workers, delta %d: counts from %d reads on', (epochs, workers, delta, threshold) => {
    expect(accessAnalysis({ epochs, workers, samples: 1, delta }).threshold).toBe(threshold);
  });

  it('expects nothing beyond all epochs, and of no samples', () => {
    expect(accessAnalysis({ epochs: 4, workers: 2, samples: 9, delta: 5 }).expected).toBe(0);
    expect(accessAnalysis({ epochs: 4, workers: 1, samples: 9, delta: 0 }).expected).toBe(0);
    expect(sum(accessAnalysis({ epochs: 4, workers: 2, samples: 0 }).distribution)).toBe(0);
  });

  it('refuses what is no training', () => {
    for (const wrong of [{ epochs: 0 }, { workers: 0 }, { samples: -1 }, { delta: -1 }, { delta: NaN }])
      expect(() => accessAnalysis({ ...paper, ...wrong }), JSON.stringify(wrong)).toThrow(
        withCode('TIERED_CONFIG_INVALID'),
      );
  });
});

it('accessDistribution counts the samples of a table by how often they are read', () => {
  expect([...accessDistribution(Uint8Array.of(0, 3, 1, 3))]).toEqual([1, 1, 0, 2]);
  expect([...accessDistribution(new Uint8Array())]).toEqual([0]);
});
