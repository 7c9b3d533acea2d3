import type { AdaptiveAutotunerOptions, Tuning, TuningLimits } from '@tiered/prefetch/autotuner';
import { adaptiveAutotuner } from '../../src/autotuner/adaptive.js';
import { exhaustiveGrid, throughput } from './grid.js';
import { simulate, type Run, type Workload } from './simulation.js';

const MiB = 2 ** 20;

/** Budgets that leave the choice to the tuner. */
export const limits: TuningLimits = {
  producers: 32,
  memoryBytes: 4096 * MiB,
  fixed: {},
  objectBytes: undefined,
};

/** Every number of producers up to the limit, above 16 every second one. */
export const PRODUCERS = [...Array.from({ length: 16 }, (_, i) => i + 1), 18, 20, 22, 24, 26, 28, 30, 32];

/**
 * What the adaptive autotuner gets out of a workload, in its second half, beside the best of all settings.
 */
export function trial(make: (samples: number) => Workload, samples: number, gridSamples = 3000) {
  const workload = make(samples);
  // As long as memory fills ahead of a consumer that is slower, any number of producers is right: so not for
  // the whole run.
  const memoryBytes = Math.min(limits.memoryBytes, workload.bytes(0) * Math.max(100, samples / 40));
  const run = simulate(workload, adaptiveAutotuner(), { ...limits, memoryBytes });
  const grid = exhaustiveGrid(() => make(gridSamples), limits, PRODUCERS, [64 * MiB, limits.memoryBytes]);
  const half = workload.samples >> 1;
  return {
    run,
    grid,
    share: throughput(run, half, workload.samples - 1) / grid.best,
    producers: prevailing(run, half),
    changes: changesAfter(run, half),
  };
}

/** Runs it without comparing. */
export function tuned(
  workload: Workload,
  given: Partial<TuningLimits> = {},
  options: AdaptiveAutotunerOptions = {},
): Run {
  return simulate(workload, adaptiveAutotuner(options), { ...limits, ...given });
}

/** The tuning in force when this sample was taken. */
export function tuningAt(run: Run, sample: number): Tuning | undefined {
  return run.decisions.findLast(({ taken }) => taken <= sample)?.tuning;
}

/** The number of producers that was in force for the most of the samples from this one on, until another. */
export function prevailing(run: Run, from: number, to = run.takenAt.length): number {
  const counts = new Map<number, number>();
  for (const [i, { taken, tuning }] of run.decisions.entries()) {
    const until = Math.min(run.decisions[i + 1]?.taken ?? to, to);
    const samples = Math.max(0, until - Math.max(taken, from));
    counts.set(tuning.producers, (counts.get(tuning.producers) ?? 0) + samples);
  }
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? Number.NaN;
}

/** Decisions to change something, from this sample on. */
export function changesAfter(run: Run, sample: number): number {
  return run.decisions.filter(({ taken, tuning }, i) => {
    const before = run.decisions[i - 1]?.tuning ?? tuning;
    const changed = tuning.producers !== before.producers || tuning.memoryBytes !== before.memoryBytes;
    return changed && taken >= sample;
  }).length;
}
