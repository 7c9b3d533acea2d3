import type { TuningLimits, TuningObservation } from '@tiered/prefetch/autotuner';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { adaptiveAutotuner } from '../../src/autotuner/adaptive.js';
import { link } from './sources.js';
import { limits, prevailing, tuned } from './trial.js';

const MiB = 2 ** 20;

const amount = fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1e12, noNaN: true }));
const count = fc.oneof(fc.constant(0), fc.nat());
const moved = fc.record({ samples: count, bytes: amount });

/** What was seen, apart from the tuning, which is the last decision's: nothing in it need fit together. */
const observations: fc.Arbitrary<Omit<TuningObservation, 'tuning'>> = fc.record({
  elapsedMs: amount,
  read: fc.record({ samples: count, bytes: amount, ms: amount }),
  taken: moved,
  starvedMs: amount,
  fullMs: amount,
  busyProducers: amount,
  usableProducers: fc.oneof(fc.integer({ min: 1, max: 64 }), fc.constant(Infinity)),
  usage: fc.record({ records: count, sum: amount, sumOfSquares: amount }),
});

const givenLimits: fc.Arbitrary<TuningLimits> = fc.record({
  producers: fc.integer({ min: 1, max: 256 }),
  memoryBytes: fc.integer({ min: 1, max: 2 ** 40 }),
  fixed: fc.record(
    {
      producers: fc.integer({ min: 1, max: 256 }),
      memoryBytes: fc.integer({ min: 1, max: 2 ** 40 }),
      samples: fc.integer({ min: 1, max: 1000 }),
    },
    { requiredKeys: [] },
  ),
  objectBytes: fc.option(fc.nat(), { nil: undefined }),
});

const initial = fc.option(fc.integer({ min: 1, max: 300 }), { nil: undefined });

describe('the adaptive autotuner and its limits', () => {
  it('keeps to the limits and to what is fixed, whatever it sees', () => {
    fc.assert(
      fc.property(givenLimits, initial, fc.array(observations, { maxLength: 200 }), (given, start, seen) => {
        const tuner = adaptiveAutotuner({ initialProducers: start });
        let { tuning, nextInMs, reason } = tuner.begin(given);
        const check = () => {
          expect(Number.isSafeInteger(tuning.producers) && tuning.producers >= 1).toBe(true);
          expect(Number.isSafeInteger(tuning.memoryBytes) && tuning.memoryBytes >= 1).toBe(true);
          const { producers = tuning.producers, memoryBytes = tuning.memoryBytes, samples } = given.fixed;
          expect(tuning).toEqual({
            producers: Math.min(producers, given.producers),
            memoryBytes: Math.min(memoryBytes, given.memoryBytes),
            samples: samples ?? Infinity,
          });
          expect(reason).not.toBe('');
        };
        check();
        for (const observation of seen) {
          if (nextInMs === undefined) return;
          ({ tuning, nextInMs, reason } = tuner.decide({ ...observation, tuning }));
          check();
          expect(nextInMs).toBeGreaterThan(0);
          expect(nextInMs).toBeLessThan(60_000);
        }
      }),
    );
  });

  it('asks for nothing where producers and memory are fixed', () => {
    const fixed = { producers: 3, memoryBytes: MiB };
    expect(adaptiveAutotuner().begin({ ...limits, fixed })).toMatchObject({
      tuning: { ...fixed, samples: Infinity },
      nextInMs: undefined,
    });
  });

  it('begins with as many producers as it is given, and comes to the same number from there', () => {
    // Too fast to be taken for one that waits, which would be given all producers at once.
    const workload = () => {
      const source = link(0.4, 16e9);
      return { source: () => source, bytes: () => 200_000, samples: 20_000 };
    };
    const wide = { producers: 64 };
    const [usual, informed] = [tuned(workload(), wide), tuned(workload(), wide, { initialProducers: 32 })];
    expect(informed.decisions[0]?.tuning.producers).toBe(32);
    const first = (run: typeof usual) => run.takenAt[300] ?? Number.NaN;
    expect(first(informed), 'what a search would cost').toBeLessThan(0.6 * first(usual));
    const shallow = () => {
      const source = link(1, 150e6);
      return { source: () => source, bytes: () => 100_000, samples: 20_000 };
    };
    const run = tuned(shallow(), {}, { initialProducers: 32 });
    expect(prevailing(run, 10_000)).toBeLessThanOrEqual(prevailing(tuned(shallow()), 10_000) + 1);
    for (const initialProducers of [0, Number.NaN])
      expect(() => adaptiveAutotuner({ initialProducers })).toThrow(
        expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' }),
      );
  });

  it('tunes memory where producers are fixed, and the reverse', () => {
    const workload = () => {
      const source = link(5, 150e6);
      const consumer = () => ({ batch: 512, ms: 400 });
      return { source: () => source, bytes: () => 100_000, samples: 30_000, consumer };
    };
    const memory = tuned(workload(), { fixed: { producers: 12 } }).decisions.map(({ tuning }) => tuning);
    expect(new Set(memory.map(({ producers }) => producers))).toEqual(new Set([12]));
    expect(memory.at(-1)?.memoryBytes).toBeGreaterThanOrEqual(32 * MiB);
    const producers = tuned(workload(), { fixed: { memoryBytes: 64 * MiB } }).decisions.map(
      ({ tuning }) => tuning,
    );
    expect(new Set(producers.map(({ memoryBytes }) => memoryBytes))).toEqual(new Set([64 * MiB]));
    expect(producers.at(-1)?.producers).toBeGreaterThanOrEqual(6);
  });

  it('goes down at once to the producers that there is use for, and no further up as long as there is no more', () => {
    const tuner = adaptiveAutotuner();
    let { tuning } = tuner.begin({ ...limits, producers: 64 });
    const read = { samples: 1000, bytes: 1e8, ms: 80 };
    const usage = { records: 0, sum: 0, sumOfSquares: 0 };
    const busy = { elapsedMs: 100, starvedMs: 100, fullMs: 0, busyProducers: 4, usableProducers: 4 };
    for (let i = 0; i < 100; i++) {
      ({ tuning } = tuner.decide({ ...busy, tuning, read, taken: read, usage }));
      expect(tuning.producers).toBeLessThanOrEqual(4);
    }
  });

  it('decides nothing on observations in which nobody read and nobody waited', () => {
    const tuner = adaptiveAutotuner();
    const { tuning } = tuner.begin(limits);
    const nothing = { samples: 0, bytes: 0, ms: 0 };
    for (let i = 0; i < 100; i++) {
      const idle = { elapsedMs: 1000, starvedMs: 0, fullMs: 1000, busyProducers: 0, usableProducers: 64 };
      const usage = { records: 0, sum: 0, sumOfSquares: 0 };
      expect(tuner.decide({ ...idle, tuning, read: nothing, taken: nothing, usage }).tuning).toEqual(tuning);
    }
  });

  it('ends a standstill: consumers wait for a list that memory has no room for', () => {
    const tuner = adaptiveAutotuner();
    const first = tuner.begin({ ...limits, memoryBytes: 1024 * MiB }).tuning;
    const nothing = { samples: 0, bytes: 0, ms: 0 };
    let tuning = first;
    for (let i = 0; i < 10; i++) {
      const stuck = { elapsedMs: 1000, starvedMs: 1000, fullMs: 1000, busyProducers: 0, usableProducers: 64 };
      const usage = { records: 0, sum: 0, sumOfSquares: 0 };
      ({ tuning } = tuner.decide({ ...stuck, tuning, read: nothing, taken: nothing, usage }));
    }
    expect(tuning.producers).toBe(first.producers);
    expect(tuning.memoryBytes).toBeGreaterThanOrEqual(16 * first.memoryBytes);
  });

  it('has one state for each run: what it learnt does not outlive `begin`', () => {
    const tuner = adaptiveAutotuner();
    const first = tuner.begin(limits);
    const read = { samples: 1000, bytes: 1e9, ms: 1000 };
    const usage = { records: 0, sum: 0, sumOfSquares: 0 };
    const seen = {
      elapsedMs: 1000,
      starvedMs: 1000,
      fullMs: 0,
      busyProducers: 1,
      usableProducers: 64,
      read,
      taken: read,
      usage,
    };
    for (let i = 0; i < 5; i++) tuner.decide({ ...seen, tuning: first.tuning });
    expect(tuner.begin(limits)).toEqual(first);
  });
});
