import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exhaustiveGrid, throughput } from './grid.js';
import type { Workload } from './simulation.js';
import { cpu, jitteredLink, link } from './sources.js';
import { changesAfter, limits, PRODUCERS, prevailing, trial, tuned, tuningAt } from './trial.js';

const MB = 1e6;
const MiB = 2 ** 20;
const SHIFT = 20_000;

/** As the first up to the sample `SHIFT`, and then as the second. */
function shift(first: Workload, second: Workload, samples: number): Workload {
  const at = (position: number) => (position < SHIFT ? first : second);
  return {
    samples,
    source: (position) => at(position).source(position),
    bytes: (position) => at(position).bytes(position),
    consumer: (position) => at(position).consumer?.(position) ?? { batch: 1, ms: 0 },
  };
}

function slowSource(bytes = 100_000): Workload {
  const source = link(5, 150 * MB);
  return { source: () => source, bytes: () => bytes, samples: 2 * SHIFT };
}

function localTier(): Workload {
  const source = cpu(2, 0.1);
  return { source: () => source, bytes: () => 100_000, samples: 200_000 };
}

function eachTakes(ms: number): Pick<Workload, 'consumer'> {
  return { consumer: () => ({ batch: 1, ms }) };
}

/** The best of the grid on a workload alone, and the producers for it. */
function bestOf(make: () => Workload) {
  return exhaustiveGrid(() => ({ ...make(), samples: 4000 }), limits, PRODUCERS);
}

describe('the adaptive autotuner when the workload shifts', () => {
  it.each([
    ['epoch 2 comes from a local tier', slowSource, localTier, 120_000],
    ['a tier is lost, and the source is read again', localTier, slowSource, 60_000],
    ['objects become ten times larger', () => slowSource(50_000), () => slowSource(500_000), 30_000],
    ['objects become ten times smaller', () => slowSource(500_000), () => slowSource(50_000), 150_000],
    [
      'the link loses most of its bandwidth',
      slowSource,
      () => ({ ...slowSource(), ...narrowLink() }),
      30_000,
    ],
    ['the consumer becomes slow', slowSource, () => ({ ...slowSource(), ...eachTakes(4) }), 30_000],
    ['the consumer becomes fast', () => ({ ...slowSource(), ...eachTakes(4) }), slowSource, 60_000],
  ] as const)('tunes anew: %s', (_, first, second, samples) => {
    const run = tuned(shift(first(), second(), samples));
    const grid = bestOf(second);
    const converged = samples - ((samples - SHIFT) >> 1);
    expect(throughput(run, converged, samples - 1)).toBeGreaterThanOrEqual(0.95 * grid.best);
    expect(prevailing(run, converged)).toBeLessThanOrEqual(grid.producers + 2);
    expect(changesAfter(run, converged)).toBeLessThanOrEqual(10);
  });

  it('notices within a second and a half, where consumers wait', () => {
    const run = tuned(shift(slowSource(), localTier(), 60_000));
    const shifted = run.takenAt[SHIFT] ?? 0;
    const before = tuningAt(run, SHIFT);
    const change = run.decisions.find(
      ({ atMs, tuning }) => atMs > shifted && tuning.producers !== before?.producers,
    );
    expect(change?.atMs).toBeLessThan(shifted + 1500);
  });

  it('comes down to what a slow consumer needs, and does not let it starve', () => {
    const run = tuned(shift(slowSource(), { ...slowSource(), ...eachTakes(4) }, 30_000));
    expect(tuningAt(run, SHIFT)?.producers).toBeGreaterThanOrEqual(9);
    // A read takes 5.7 ms, so that 1.5 are under way in the mean.
    expect(run.decisions.at(-1)?.tuning.producers).toBeLessThanOrEqual(3);
    expect(throughput(run, 25_000, 29_999)).toBeGreaterThan(0.98 * 250);
  });
});

describe('the adaptive autotuner in the long run', () => {
  it('changes nothing without need: the number of changes grows with the logarithm of time', () => {
    fc.assert(
      fc.property(fc.nat(), fc.constantFrom(0, 0.7, 1.2), (seed, consumerMs) => {
        const source = jitteredLink(5, 150 * MB, seed);
        const samples = 200_000;
        const run = tuned({ source: () => source, bytes: () => 100_000, samples, ...eachTakes(consumerMs) });
        expect(changesAfter(run, samples / 2)).toBeLessThanOrEqual(12);
      }),
      { numRuns: 5 },
    );
  });

  it('gives more memory where that helps: producers stand still and consumers starve', () => {
    // A list of 512 needs 51 MB while the consumer works on the one before.
    const make = (samples: number): Workload => ({
      ...slowSource(),
      samples,
      consumer: () => ({ batch: 512, ms: 400 }),
    });
    const { run, share } = trial(make, 60_000, 20_000);
    expect(share).toBeGreaterThanOrEqual(0.95);
    expect(run.decisions.at(-1)?.tuning.memoryBytes).toBeGreaterThanOrEqual(32 * MiB);
  });

  it('gives no more memory to a consumer that is the limit', () => {
    const run = tuned({ ...slowSource(), ...eachTakes(4) });
    expect(Math.max(...run.decisions.map(({ tuning }) => tuning.memoryBytes))).toBeLessThanOrEqual(16 * MiB);
  });
});

function narrowLink(): Pick<Workload, 'source'> {
  const source = link(5, 25 * MB);
  return { source: () => source };
}
