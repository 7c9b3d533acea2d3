import { configError } from '@tiered/core/internal';
import type { Tuning, TuningLimits } from './autotuner.js';

/** A tuning as the limits allow it: whole, at least 1 of everything, nothing above its budget, and what is fixed as it is. */
export function withinLimits(wanted: Tuning, limits: TuningLimits): Tuning {
  const { producers, memoryBytes, samples } = { ...wanted, ...limits.fixed };
  return {
    producers: between(1, Math.ceil(producers), limits.producers),
    memoryBytes: between(1, Math.ceil(memoryBytes), limits.memoryBytes),
    samples: Math.max(1, samples),
  };
}

/** The number, or the bound that it is beyond; the upper one where they contradict each other. */
export function between(low: number, value: number, high: number): number {
  return Math.min(Math.max(low, value), high);
}

/**
 * Refuses options that are no numbers of at least `least`.
 * @throws TieredError `TIERED_CONFIG_INVALID`
 */
export function assertOptions(options: Readonly<Record<string, number>>, least: number): void {
  for (const [field, value] of Object.entries(options)) {
    if (!(value >= least)) throw configError(field, `a number of at least ${least}`, value);
  }
}
