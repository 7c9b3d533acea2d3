import type { Autotuner, Tuning, TuningLimits } from '@tiered/prefetch/autotuner';
import { simulate, type Run, type Workload } from './simulation.js';

/** Leaves the tuning as it is given. */
export function fixedAt(tuning: Tuning): Autotuner {
  const decision = { tuning, reason: 'fixed', nextInMs: undefined };
  return { name: 'fixed', begin: () => decision, decide: () => decision };
}

/** Samples a second from one sample on to another. */
export function throughput(run: Run, from: number, to: number): number {
  const began = run.takenAt[from] ?? Number.NaN;
  const ended = run.takenAt[to] ?? Number.NaN;
  return (1000 * (to - from)) / (ended - began);
}

export interface Grid {
  /** The best throughput of all settings. */
  readonly best: number;
  /** The fewest producers of a setting that reaches 95 % of it. */
  readonly producers: number;
}

/** Runs every setting, on a workload that is made anew for each, as sources have a state. */
export function exhaustiveGrid(
  make: () => Workload,
  limits: TuningLimits,
  producers: readonly number[],
  memories: readonly number[] = [limits.memoryBytes],
): Grid {
  const settings = producers.flatMap((count) =>
    memories.map((memoryBytes) => {
      const workload = make();
      const tuning = { producers: count, memoryBytes, samples: Infinity };
      const run = simulate(workload, fixedAt(tuning), limits);
      return { count, rate: throughput(run, 0, workload.samples - 1) };
    }),
  );
  const best = Math.max(...settings.map(({ rate }) => rate));
  const good = settings.filter(({ rate }) => rate >= 0.95 * best);
  return { best, producers: Math.min(...good.map(({ count }) => count)) };
}
