import type { HierarchyConfig } from '@tiered/config';
import {
  initialProducersOf,
  placementConcurrencyOf,
  type CalibrationProfile,
} from '@tiered/simulator/calibration';
import { throughput, type ThroughputCurve } from '@tiered/simulator/model';
import { Document, isMap, isScalar } from 'yaml';
import { rateOf } from '../../words.js';

/** Says of a field why it has its value. */
export interface Remark {
  /** The keys that lead to the field. */
  readonly field: readonly string[];
  readonly text: string;
}

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
        text: 'Each read uses the copy or the source, whichever is faster at the moment by these measurements.',
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

/** Writes a configuration as YAML, with each remark above its field. */
export function yamlOf(config: HierarchyConfig, remarks: readonly Remark[]): string {
  const document = new Document(config);
  for (const { field, text } of remarks) {
    const holder = document.getIn(field.slice(0, -1), true);
    const pairs = isMap(holder) ? holder.items : [];
    for (const { key } of pairs)
      if (isScalar(key) && key.value === field.at(-1)) key.commentBefore = ` ${text}`;
  }
  return document.toString();
}
