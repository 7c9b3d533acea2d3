import { configError } from '@tiered/core/internal';
import type { Tuning, TuningLimits } from './autotuner.js';

/**
 * Returns a tuning within the limits: whole numbers of producers and bytes, at least 1 of each, nothing above
 * its budget, and fixed settings as they are.
 */
export function withinLimits(wanted: Tuning, limits: TuningLimits): Tuning {
  const { producers, memoryBytes, samples } = { ...wanted, ...limits.fixed };
  return {
    producers: between(1, Math.ceil(producers), limits.producers),
    memoryBytes: between(1, Math.ceil(memoryBytes), limits.memoryBytes),
    samples: Math.max(1, samples),
  };
}

/**
 * For each read that a source makes at a time, another one waits for its turn, so that no thread of the
 * source is idle.
 */
const FOR_EACH_READ = 2;

/** Returns how many producers are useful if a source makes this many reads at a time. */
export function producersFor(readsAtOnce = Infinity): number {
  return Math.max(1, FOR_EACH_READ * readsAtOnce);
}

/** Clamps a number to the bounds. If the bounds contradict each other, the upper one counts. */
export function between(low: number, value: number, high: number): number {
  return Math.min(Math.max(low, value), high);
}

/**
 * Rejects options that are not numbers of at least `least`.
 * @throws TieredError `TIERED_CONFIG_INVALID`.
 */
export function assertOptions(options: Readonly<Record<string, number>>, least: number): void {
  for (const [field, value] of Object.entries(options)) {
    if (!(value >= least)) throw configError(field, `a number of at least ${least}`, value);
  }
}
