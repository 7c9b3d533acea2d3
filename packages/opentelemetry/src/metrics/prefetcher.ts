import type { Prefetcher, PrefetcherProfile, PrefetcherStats } from '@tiered/prefetch';
import { observe, type Metric, type MetricsOptions } from './observe.js';

/** Options of `observePrefetcher`. */
export interface PrefetcherMetricsOptions extends MetricsOptions {
  /**
   * The attribute `tiered.prefetcher.name`, such as `train`. Prefetchers that are observed at the same time
   * need different names. A later one may reuse the name of an earlier one. Default: `prefetcher`.
   */
  readonly name?: string | undefined;
}

/** The figures measured for a prefetcher. */
interface Snapshot {
  readonly stats: PrefetcherStats;
  readonly profile: PrefetcherProfile;
}

const MS_A_SECOND = 1000;

/** The metrics of a prefetcher, and of the staging buffer that it reads into. */
export const PREFETCHER_METRICS: readonly Metric<Snapshot>[] = [
  {
    name: 'tiered.prefetch.samples',
    kind: 'count',
    unit: '{sample}',
    description: 'Samples given to consumers.',
    of: ({ stats }) => [[stats.samples]],
  },
  {
    name: 'tiered.prefetch.io',
    kind: 'count',
    unit: 'By',
    description: 'Bytes of the samples given to consumers.',
    of: ({ stats }) => [[stats.bytes]],
  },
  {
    name: 'tiered.prefetch.repeated',
    kind: 'count',
    unit: '{sample}',
    description: 'Samples that were copied and not read, because their object was in the buffer.',
    of: ({ stats }) => [[stats.repeated]],
  },
  {
    name: 'tiered.prefetch.skipped',
    kind: 'count',
    unit: '{sample}',
    description: 'Samples that could not be read and were left out.',
    of: ({ stats }) => [[stats.skipped]],
  },
  {
    name: 'tiered.prefetch.buffered',
    kind: 'sum',
    unit: '{sample}',
    description: 'Samples being read, and samples that are there for consumers.',
    of: ({ stats }) => [
      [stats.reading, { 'tiered.prefetch.state': 'reading' }],
      [stats.ready, { 'tiered.prefetch.state': 'ready' }],
    ],
  },
  {
    name: 'tiered.prefetch.memory.usage',
    kind: 'sum',
    unit: 'By',
    description: 'Bytes of samples being read, waiting, or with a consumer.',
    of: ({ stats }) => [[stats.heldBytes]],
  },
  {
    name: 'tiered.prefetch.consumer.wait_time',
    kind: 'count',
    unit: 's',
    description: 'Time that consumers waited for samples, summed over them.',
    of: ({ stats }) => [[stats.stallMs / MS_A_SECOND]],
  },
  {
    name: 'tiered.prefetch.buffer.limit',
    kind: 'gauge',
    unit: 'By',
    description: 'Memory of the staging buffer that is in use now, at most.',
    of: ({ stats }) => [[stats.tuning.memoryBytes]],
  },
  {
    name: 'tiered.prefetch.producer.limit',
    kind: 'gauge',
    unit: '{producer}',
    description: 'Producers that the staging buffer has now.',
    of: ({ stats }) => [[stats.tuning.producers]],
  },
  {
    name: 'tiered.prefetch.producer.busy_time',
    kind: 'count',
    unit: 's',
    description:
      'Time that producers of the staging buffer spent on reads that have ended, summed over them.',
    // Not `busyProducers` times `seconds`: a count must never fall, not even by rounding.
    of: ({ profile }) => [[profile.places.reduce((ms, place) => ms + place.producerMs, 0) / MS_A_SECOND]],
  },
  {
    name: 'tiered.prefetch.producer.wait_time',
    kind: 'count',
    unit: 's',
    description: 'Time in which a producer of the staging buffer stood still, because there was no room.',
    of: ({ profile }) => [[profile.producerWaitMs / MS_A_SECOND]],
  },
];

/**
 * Creates metrics of `prefetcher.stats()` and `prefetcher.profile()`, which are called when they are
 * collected. All have the attribute `tiered.prefetcher.name`. Those of producers and of the buffer belong to
 * the staging buffer: prefetchers that share one report the same.
 * @param prefetcher Kept in memory until the metrics end.
 * @returns A function that ends the metrics.
 */
export function observePrefetcher(
  prefetcher: Pick<Prefetcher, 'stats' | 'profile'>,
  options: PrefetcherMetricsOptions = {},
): () => void {
  const { name = 'prefetcher', attributes, meterProvider } = options;
  const snapshot = () => ({ stats: prefetcher.stats(), profile: prefetcher.profile() });
  return observe(PREFETCHER_METRICS, snapshot, {
    meterProvider,
    attributes: { ...attributes, 'tiered.prefetcher.name': name },
  });
}
