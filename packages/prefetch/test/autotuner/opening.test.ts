import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { adaptiveAutotuner } from '../../src/autotuner/adaptive.js';
import { exhaustiveGrid, fixedAt, throughput } from './grid.js';
import { cpu, crowded, jitteredLink, link, type Source } from './sources.js';
import { simulate, type Run, type Workload } from './simulation.js';
import { limits, prevailing, tuned, tuningAt } from './trial.js';

const MB = 1e6;
const MiB = 2 ** 20;
const ALLOWED = 64;
const wide = { ...limits, producers: ALLOWED };

/** Objects of 100 KB. */
function from(makeSource: () => Source, samples: number, rest: Partial<Workload> = {}): () => Workload {
  return () => {
    const source = makeSource();
    return { source: () => source, bytes: () => 100_000, samples, ...rest };
  };
}

/**
 * What all of a run gives beside one with all producers that are allowed, or with the number that is best.
 */
function shareOf(make: () => Workload, producers: readonly number[] = [ALLOWED]): number {
  const run = tuned(make(), wide);
  const { best } = exhaustiveGrid(make, wide, producers);
  return throughput(run, 0, run.takenAt.length - 1) / best;
}

function mostProducers({ decisions }: Run, untilMs = Infinity): number {
  return Math.max(...decisions.filter(({ atMs }) => atMs <= untilMs).map(({ tuning }) => tuning.producers));
}

describe('the adaptive autotuner in the first tenths of a second', () => {
  it('gives a source that waits all that is allowed when the first reads have ended', () => {
    const run = tuned(from(() => link(10, 1e12), 1500)(), wide);
    const leap = run.decisions.find(({ tuning }) => tuning.producers === ALLOWED);
    expect(leap?.atMs).toBeLessThan(2 * 10);
    expect(leap?.taken).toBeLessThanOrEqual(16);
    expect(leap?.reason).toMatch(/a read took 1\d.\d+ ms at first.*trying 64/);
  });

  it.each([
    ['10 ms, as many as are wanted', from(() => link(10, 1e12), 1500)],
    ['10 ms, 3,000 reads a second', from(() => link(10, 300 * MB), 1500)],
    ['jitter around 5 ms', from(() => jitteredLink(5, 1e12, 3), 1500)],
    ['50 ms', from(() => link(50, 1e12), 3000)],
  ] as const)('gives a short run 0.9 of what a whole budget gives: %s', (_, make) => {
    expect(shareOf(make)).toBeGreaterThanOrEqual(0.9);
  });

  it('goes down at once where a link is full with fewer, and loses nothing by that', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 3, max: 30, noNaN: true }),
        fc.double({ min: 2, max: 12, noNaN: true }),
        (latencyMs, knee) => {
          const readsPerMs = (knee - 1) / latencyMs;
          const make = from(() => link(latencyMs, 1e8 * readsPerMs), 2000);
          const run = tuned(make(), wide);
          expect(mostProducers(run)).toBe(ALLOWED);
          expect(tuningAt(run, 150)?.producers).toBeLessThanOrEqual(Math.max(32, 4 * knee));
          expect(shareOf(make)).toBeGreaterThanOrEqual(0.9);
        },
      ),
      { numRuns: 10 },
    );
  });

  it.each([
    ['8 at a time, beyond which each is slower', () => crowded(5, 0.7, 8)],
    ['24 at a time, beyond which each is slower', () => crowded(10, 0.5, 24)],
    ['2 at a time, beyond which each is slower', () => crowded(2, 2, 1)],
  ] as const)('leaves no source at more producers than it bears: %s', (_, makeSource) => {
    const make = from(makeSource, 8000);
    const run = tuned(make(), wide);
    const numbers = [1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32, 40, 48, 64];
    const grid = exhaustiveGrid(make, wide, numbers);
    expect(throughput(run, 4000, 7999)).toBeGreaterThanOrEqual(0.93 * grid.best);
    expect(prevailing(run, 4000)).toBeLessThanOrEqual(grid.producers + 4);
    const all = simulate(make(), fixedAt({ ...wide, producers: ALLOWED, samples: Infinity }), wide);
    expect(throughput(all, 0, 7999)).toBeLessThan(0.8 * grid.best);
  });

  it.each([
    ['reads that are fast', from(() => cpu(2, 0.1), 2000), {}],
    ['large objects', from(() => link(10, 150 * MB), 100, { bytes: () => 16 * MiB }), {}],
    ['a fixed number', from(() => link(10, 1e12), 1500), { fixed: { producers: 8 } }],
    [
      'a consumer that works for longer',
      from(() => link(3, 1e12), 1500, { consumer: () => ({ batch: 1, ms: 4 }) }),
      {},
    ],
  ] as const)('leaps with nothing that does not call for it: %s', (_, make, given) => {
    expect(mostProducers(tuned(make(), { ...wide, ...given }), 500)).toBeLessThanOrEqual(16);
  });

  it('gives a source that waits room for reads that come late, and one that is read in batches no more than others', () => {
    const tuner = adaptiveAutotuner();
    const first = tuner.begin({ ...wide, memoryBytes: 1024 * MiB, objectBytes: 500_000 });
    expect(first.tuning.memoryBytes).toBe(16 * MiB);
    const usage = { records: 0, sum: 0, sumOfSquares: 0 };
    const moved = { samples: 8, bytes: 8 * 500_000 };
    const seen = { elapsedMs: 10, starvedMs: 10, fullMs: 0, busyProducers: 8, usage };
    const read = { ...moved, ms: 80 };
    const many = tuner.decide({ ...seen, tuning: first.tuning, read, taken: moved, usableProducers: 64 });
    expect(many.tuning).toMatchObject({ producers: 64, memoryBytes: 256 * MiB });
    const fast = tuner.decide({ ...seen, tuning: many.tuning, read, taken: moved, usableProducers: 4 });
    expect(fast.tuning).toMatchObject({ producers: 4, memoryBytes: 16 * MiB });
  });

  it('does not leap where somebody knew where to begin', () => {
    const run = tuned(from(() => link(10, 1e12), 1500)(), wide, { initialProducers: 12 });
    expect(mostProducers(run, 40)).toBe(12);
  });
});
