import { ERROR_CODES } from '@tiered/core';
import type { Tuning, TuningLimits, TuningObservation } from '@tiered/prefetch/autotuner';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { prismaAutotuner, type PrismaAutotunerOptions } from '../../src/autotuner/prisma.js';
import { link } from './sources.js';
import { simulate } from './simulation.js';

const GiB = 2 ** 30;
const limits: TuningLimits = { producers: 8, memoryBytes: GiB, fixed: {}, objectBytes: undefined };

/** An observation of these percentages, one a record. Prisma looks at nothing else. */
function observed(tuning: Tuning, percentages: readonly number[]): TuningObservation {
  return {
    elapsedMs: 100,
    tuning,
    read: { samples: 0, bytes: 0, ms: 0 },
    taken: { samples: 0, bytes: 0 },
    starvedMs: 0,
    fullMs: 0,
    busyProducers: 0,
    usableProducers: 100,
    usage: {
      records: percentages.length,
      sum: percentages.reduce((sum, percent) => sum + percent, 0),
      sumOfSquares: percentages.reduce((sum, percent) => sum + percent ** 2, 0),
    },
  };
}

/** Ten records, half of them above the mean by the deviation, half below. */
function spread(mean: number, deviation: number): number[] {
  return Array.from({ length: 10 }, (_, i) => mean + (i % 2 === 0 ? deviation : -deviation));
}

/** Producers, samples, and the milliseconds until the next decision. */
type State = readonly [number, number, number | undefined];

/** The states at the beginning and after each list of records. */
function replay(
  trace: readonly (readonly number[])[],
  given: Partial<TuningLimits> = {},
  options?: PrismaAutotunerOptions,
): State[] {
  const tuner = prismaAutotuner(options);
  let decision = tuner.begin({ ...limits, ...given });
  const states: State[] = [];
  const note = () => states.push([decision.tuning.producers, decision.tuning.samples, decision.nextInMs]);
  note();
  for (const percentages of trace) {
    decision = tuner.decide(observed(decision.tuning, percentages));
    note();
  }
  return states;
}

describe('the PRISMA autotuner, Algorithm 1', () => {
  it('begins with one producer and ten samples, and waits 15 seconds', () => {
    expect(replay([])).toEqual([[1, 10, 15_000]]);
  });

  it.each([
    ['is full and steady: tuning ends', 80, 20, [1, 10, undefined]],
    ['is full and swings: room', 80, 20.1, [1, 20, 100]],
    ['is nearly full and steady: a producer', 79.9, 19, [2, 10, 100]],
    ['is half full and steady: a producer', 50, 0, [2, 10, 100]],
    ['is half full and swings: room', 50, 30, [1, 20, 100]],
    ['is empty and steady: a producer', 5, 5, [2, 10, 100]],
    ['is empty and swings: a producer', 30, 30, [2, 10, 100]],
    ['is a little above empty and swings: room', 30.1, 30, [1, 20, 100]],
  ] as const)('decides for a buffer that %s', (_, mean, deviation, expected) => {
    expect(replay([spread(mean, deviation)])[1]).toEqual(expected);
  });

  it('takes the deviation of all records, not of a sample of them', () => {
    // As a sample, ten records of 80 +- 20 deviate by 21.1.
    expect(replay([spread(80, 20)])[1]).toEqual([1, 10, undefined]);
  });

  it('keeps records until there are ten, and counts anew after a decision', () => {
    const trace = [Array(9).fill(10), [10], Array(9).fill(90), [], [90]];
    expect(replay(trace)).toEqual([
      [1, 10, 15_000],
      [1, 10, 100],
      [2, 10, 100],
      [2, 10, 100],
      [2, 10, 100],
      [2, 10, undefined],
    ]);
  });

  it('leaves a parameter that is at its cap, and does not raise the other in its place', () => {
    const trace = [spread(50, 0), spread(50, 0), spread(50, 30), spread(50, 30)];
    expect(replay(trace, { producers: 2 }, { mostSamples: 15 }).slice(1)).toEqual([
      [2, 10, 100],
      [2, 10, 100],
      [2, 15, undefined],
      [2, 15, undefined],
    ]);
  });

  it('counts anew also after a decision that could change nothing', () => {
    const trace = [spread(50, 0), spread(50, 0), spread(90, 0)];
    expect(replay(trace, { producers: 2 }).at(-1)).toEqual([2, 10, undefined]);
  });

  it('tunes only samples where producers are fixed, and the reverse', () => {
    const trace = [spread(50, 0), spread(50, 30)];
    expect(replay(trace, { fixed: { producers: 5 } }).slice(1)).toEqual([
      [5, 10, 100],
      [5, 20, 100],
    ]);
    expect(replay(trace, { fixed: { samples: 64 } }).slice(1)).toEqual([
      [2, 64, 100],
      [2, 64, 100],
    ]);
  });

  it('asks for nothing where everything is fixed', () => {
    expect(replay([], { fixed: { producers: 3, samples: 7 } })).toEqual([[3, 7, undefined]]);
  });

  it('adds no producer beyond those that there is use for, and takes none away', () => {
    const tuner = prismaAutotuner({ initialProducers: 2 });
    let { tuning } = tuner.begin(limits);
    const seen = (usableProducers: number) => {
      ({ tuning } = tuner.decide({ ...observed(tuning, spread(5, 5)), usableProducers }));
      return tuning.producers;
    };
    expect([3, 3, 4, 1, Infinity].map(seen)).toEqual([3, 3, 4, 4, 5]);
  });

  it('takes every figure as an option', () => {
    const options = { initialSamples: 4, initialProducers: 2, samplesStep: 3, producersStep: 2 };
    const more = { initialIntervalMs: 1, intervalMs: 2, leastRecords: 1 };
    const thresholds = { fullPercent: 60, emptyPercent: 10, steadyPercent: 1 };
    const trace = [[10], [50, 54], [50], [60]];
    expect(replay(trace, {}, { ...options, ...more, ...thresholds })).toEqual([
      [2, 4, 1],
      [4, 4, 2],
      [4, 7, 2],
      [6, 7, 2],
      [6, 7, undefined],
    ]);
  });

  it.each([{ initialSamples: 0 }, { producersStep: Number.NaN }, { intervalMs: -1 }])(
    'refuses figures that cannot work: %o',
    (options) => {
      const code: keyof typeof ERROR_CODES = 'TIERED_CONFIG_INVALID';
      expect(() => prismaAutotuner(options)).toThrow(expect.objectContaining({ code }));
    },
  );

  it('has all the memory that it is given, within the limits, whatever it sees', () => {
    const record = fc.double({ min: 0, max: 100, noNaN: true });
    const traces = fc.array(fc.array(record, { maxLength: 30 }), { maxLength: 30 });
    fc.assert(
      fc.property(
        traces,
        fc.integer({ min: 1, max: 5 }),
        fc.option(fc.integer({ min: 1, max: 9 })),
        (...given) => {
          const [trace, producers, fixed] = given;
          const tuner = prismaAutotuner({ mostSamples: 30 });
          const kept = fixed === null ? {} : { samples: fixed };
          let { tuning } = tuner.begin({ ...limits, producers, fixed: kept });
          for (const percentages of trace) {
            const before = tuning;
            ({ tuning } = tuner.decide(observed(tuning, percentages)));
            expect(tuning.memoryBytes).toBe(GiB);
            expect(tuning.producers).toBeGreaterThanOrEqual(before.producers);
            expect(tuning.producers).toBeLessThanOrEqual(producers);
            expect(tuning.samples).toBeLessThanOrEqual(30);
            if (fixed !== null) expect(tuning.samples).toBe(fixed);
          }
        },
      ),
    );
  });

  it('has the faults that the thesis and its measurement name: it acts after 15 seconds, and never comes down', () => {
    // Three epochs of 6,000 objects of 100 KB from a source of 1 ms and 150 MB/s.
    const source = link(1, 150e6);
    const workload = { source: () => source, bytes: () => 100_000, samples: 18_000 };
    const { decisions, takenAt } = simulate(workload, prismaAutotuner(), limits);
    expect(decisions[1]?.atMs).toBeGreaterThanOrEqual(15_000);
    expect(decisions[1]?.tuning.producers).toBe(2);
    // The bound is 12.1 s.
    expect(takenAt.at(-1)).toBeGreaterThan(1.5 * 12_100);
    const producers = decisions.map(({ tuning }) => tuning.producers);
    expect(producers).toEqual(producers.toSorted((a, b) => a - b));
    expect(producers.at(-1)).toBe(limits.producers);
  });
});
