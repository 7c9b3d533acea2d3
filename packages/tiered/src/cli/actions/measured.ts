import type { HierarchyConfig } from '@tiered/config';
import { formatBytes } from '@tiered/core';
import {
  initialProducersOf,
  placementConcurrencyOf,
  type CalibrationProfile,
} from '@tiered/simulator/calibration';
import { throughput, type ThroughputCurve } from '@tiered/simulator/model';
import type { Remark } from './config-text.js';

/** What a configuration takes from a profile, and from what figures that follows. */
export interface Measured {
  readonly config: Pick<HierarchyConfig, 'model' | 'placement' | 'prefetcher'>;
  readonly remarks: readonly Remark[];
}

/**
 * Returns the settings that follow from a profile.
 * @param file The profile, as the configuration names it.
 */
export function measuredBy(profile: CalibrationProfile, file: string): Measured {
  const concurrency = placementConcurrencyOf(profile);
  const initialProducers = initialProducersOf(profile);
  const { source, tiers } = profile;
  const filled = tiers
    .flatMap(({ name, place }) => (place === undefined ? [] : `${name} at ${rates(place, concurrency ?? 1)}`))
    // Each on a line of its own.
    .join(',\n ');
  return {
    config: {
      model: file,
      ...(concurrency !== undefined && { placement: { concurrency } }),
      prefetcher: { initialProducers },
    },
    remarks: [
      {
        field: ['model'],
        text: 'By what was measured, each read uses the copy or the source, whichever is faster at the moment.',
      },
      {
        field: ['placement', 'concurrency'],
        text: `Measured: ${concurrency} requests at a time filled ${filled}.`,
      },
      {
        field: ['prefetcher', 'initialProducers'],
        text: `Measured: ${initialProducers} at a time read ${source.name} at ${rates(source.read, initialProducers)}.`,
      },
    ],
  };
}

/** The rate of so many operations at a time, beside the best one. */
function rates(curve: ThroughputCurve, concurrency: number): string {
  const best = Math.max(...curve.points.map(([, rate]) => rate));
  return `${rateOf(throughput(curve, concurrency))} of at most ${rateOf(best)}`;
}

function rateOf(MBps: number): string {
  return `${formatBytes(Math.round(MBps * 1e6))}/s`;
}
