import { Random } from '@tiered/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpu, jitteredLink, link, type Source } from './sources.js';
import type { Workload } from './simulation.js';
import { limits, tuned, tuningAt, trial } from './trial.js';

const MB = 1e6;
const MiB = 2 ** 20;

/** Objects of this size from a source that is made anew for each run. */
function from(makeSource: () => Source, bytes: number, rest: Partial<Workload> = {}) {
  return (samples: number): Workload => {
    const source = makeSource();
    return { source: () => source, bytes: () => bytes, samples, ...rest };
  };
}

function eachTakes(ms: number, batch = 1): Partial<Workload> {
  return { consumer: () => ({ batch, ms: ms * batch }) };
}

describe('the adaptive autotuner beside an exhaustive grid', () => {
  it.each([
    ['1 ms, 150 MB/s, 100 KB', from(() => link(1, 150 * MB), 100_000), 20_000],
    ['5 ms, 150 MB/s, 100 KB', from(() => link(5, 150 * MB), 100_000), 20_000],
    ['50 ms, 50 MB/s, 100 KB', from(() => link(50, 50 * MB), 100_000), 30_000],
    ['0.1 ms, 100 MB/s, 1 KB', from(() => link(0.1, 100 * MB), 1000), 300_000],
    ['jitter around 5 ms, 150 MB/s, 100 KB', from(() => jitteredLink(5, 150 * MB, 1), 100_000), 60_000],
    ['5 ms, 150 MB/s, shards of 16 MiB', from(() => link(5, 150 * MB), 16 * MiB), 400],
    ['0.1 ms of one of two cores', from(() => cpu(2, 0.1), 100_000), 100_000],
    ['a consumer of 1 ms', from(() => link(5, 150 * MB), 100_000, eachTakes(1)), 20_000],
    [
      'a consumer of 0.8 ms and jitter',
      from(() => jitteredLink(5, 150 * MB, 2), 100_000, eachTakes(0.8)),
      60_000,
    ],
    [
      'a consumer of 128 samples at a time',
      from(() => link(5, 150 * MB), 100_000, eachTakes(0.8, 128)),
      40_000,
    ],
  ] as const)('reaches its throughput with hardly more producers: %s', (_, make, samples) => {
    const { share, producers, grid, changes } = trial(make, samples, 10_000);
    expect(share).toBeGreaterThanOrEqual(0.95);
    expect(producers).toBeLessThanOrEqual(Math.max(grid.producers + 2, 1.25 * grid.producers));
    expect(changes).toBeLessThanOrEqual(10);
  });

  it('does so for any latency, bandwidth, size and steady consumer', () => {
    const workloads = fc.record({
      latencyMs: logarithmic(0.1, 50),
      /** Reads at a time that saturate the link. */
      knee: fc.double({ min: 1.2, max: 24, noNaN: true }),
      bytes: logarithmic(1000, 16 * MiB).map(Math.round),
      /** By how much sizes differ from the mean at most. */
      spread: fc.constantFrom(0, 0.8),
      /**
       * Part of the link that the consumer can take; it is faster than the link above 1. One that is nearly
       * as fast lets memory fill all the time that a test has, and as long any number of producers is right.
       */
      demand: fc.option(
        fc.oneof(
          fc.double({ min: 0.4, max: 0.9, noNaN: true }),
          fc.double({ min: 1.1, max: 1.4, noNaN: true }),
        ),
      ),
      seed: fc.nat(),
    });
    const shares: number[] = [];
    let wasteful = 0;
    fc.assert(
      fc.property(workloads, ({ latencyMs, knee, bytes, spread, demand, seed }) => {
        // Runs of half a minute, of no more samples than a test has time for.
        const samplesPerMs = Math.min(10, (knee - 1) / latencyMs);
        const random = new Random(seed);
        const sizes = Array.from({ length: 1000 }, () =>
          Math.round(bytes * (1 + spread * (2 * random.unit() - 1))),
        );
        const make = from(() => link(latencyMs, 1000 * bytes * samplesPerMs), bytes, {
          bytes: (position) => sizes[position % sizes.length] ?? bytes,
          ...(demand === null ? {} : eachTakes(1 / (samplesPerMs * demand))),
        });
        const samples = Math.max(2000, Math.round(30_000 * samplesPerMs));
        const { share, producers, grid, changes } = trial(make, samples, 2000);
        shares.push(share);
        wasteful += producers > 3 + 1.25 * grid.producers ? 1 : 0;
        // Of 800 workloads, whose mean was 0.995, one ended at 0.949; and another one with 9 producers where
        // 3 were enough.
        expect(share).toBeGreaterThanOrEqual(0.93);
        expect(producers).toBeLessThanOrEqual(3 + 2.5 * grid.producers);
        expect(changes).toBeLessThanOrEqual(20);
      }),
      { numRuns: 10 },
    );
    expect(meanOf(shares)).toBeGreaterThanOrEqual(0.97);
    expect(wasteful).toBeLessThanOrEqual(1);
  });
});

describe('the adaptive autotuner on an unsteady source', () => {
  it('comes close to the grid, though no two windows are alike', () => {
    const workloads = fc.record({
      medianMs: logarithmic(1, 20),
      knee: fc.double({ min: 2, max: 16, noNaN: true }),
      seed: fc.nat(),
    });
    const shares: number[] = [];
    fc.assert(
      fc.property(workloads, ({ medianMs, knee, seed }) => {
        const samplesPerMs = Math.min(5, (knee - 1) / medianMs);
        const make = from(() => jitteredLink(medianMs, 1e8 * samplesPerMs, seed), 100_000);
        const { share, producers, grid } = trial(make, Math.round(60_000 * samplesPerMs), 10_000);
        shares.push(share);
        // Where 4 producers are best, 3 give 0.9: of 240 workloads with a knee near 2, two ended there.
        expect(share).toBeGreaterThanOrEqual(0.85);
        expect(producers).toBeLessThanOrEqual(3 + 1.25 * grid.producers);
      }),
      { numRuns: 5 },
    );
    expect(meanOf(shares)).toBeGreaterThanOrEqual(0.92);
  });
});

describe('the adaptive autotuner at the beginning', () => {
  it('reads three epochs within 1.1 x the bound, the first included, from a source of 1 ms and 150 MB/s', () => {
    const run = tuned(from(() => link(1, 150 * MB), 100_000)(18_000));
    expect(run.takenAt.at(-1)).toBeLessThan(1.1 * 12_100);
    expect(run.takenAt[5999]).toBeLessThan(1.1 * 4_034);
  });

  it('is where it belongs after two seconds of a source of 5 ms', () => {
    const run = tuned(from(() => link(5, 150 * MB), 100_000)(6000));
    const { tuning } = run.decisions.findLast(({ atMs }) => atMs <= 2000) ?? {};
    expect(tuning?.producers).toBeGreaterThanOrEqual(9);
    expect(tuning?.producers).toBeLessThanOrEqual(11);
  });

  it('uses the size of the objects if it is known, and has room for few of them', () => {
    const run = tuned(from(() => link(5, 150 * MB), 16 * MiB)(10), { objectBytes: 16 * MiB });
    const { memoryBytes = 0 } = tuningAt(run, 0) ?? {};
    expect(memoryBytes / (16 * MiB)).toBeGreaterThanOrEqual(2);
    expect(memoryBytes / (16 * MiB)).toBeLessThanOrEqual(16);
  });

  it('leaves samples without bound', () => {
    const run = tuned(from(() => link(1, 150 * MB), 100_000)(1000));
    expect(run.decisions.every(({ tuning }) => tuning.samples === Infinity)).toBe(true);
    expect(Math.max(...run.decisions.map(({ tuning }) => tuning.memoryBytes))).toBeLessThan(
      limits.memoryBytes,
    );
  });
});

function meanOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
}

/** A number whose order of magnitude is as likely as any other. */
function logarithmic(min: number, max: number) {
  return fc.double({ min: Math.log(min), max: Math.log(max), noNaN: true }).map(Math.exp);
}
