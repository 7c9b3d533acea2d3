import type { Clock, Hierarchy } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { formatOf, openSamples, type OpenSamplesOptions, type SampleFormat } from '@tiered/formats';
import { DataLoader, type ClairvoyantOptions, type DataLoaderOptions, type Evict } from '@tiered/loader';
import { isPlanFollower, type PlacementHandler } from '@tiered/tiering';
import type { ControlStage } from '../control/control-stage.js';
import { assertKnown, type OptionNames } from './known-options.js';
import { ProgressBar, type Terminal } from '../progress.js';

/** Options of `Dataset.loader`: those of the samples, and those of a `DataLoader`. */
export interface LoaderOptions<S = unknown, T = S, C = readonly T[]>
  extends
    Omit<DataLoaderOptions<S, T, C>, 'clairvoyant'>,
    Pick<OpenSamplesOptions<S>, 'filter' | 'indexes' | 'concurrency' | 'onProgress'> {
  /**
   * How samples lie in the objects: a format, such as `tfrecord()` of `@tiered/formats/tfrecord`, or its
   * name, such as `'tfrecord'`.
   */
  readonly format: SampleFormat<S> | string;
  /**
   * `true` has the tiers keep what this rank reads most often until the end of the training, and fills them
   * ahead of the reads. In a cluster, all ranks have one plan, which `savedMs` does not go with. With
   * `control`, loaders of this machine that read the same samples through the same disks have one plan for
   * these, which keeps what all of them together read most often. The dataset is then opened with
   * `placement: { policy: 'planFollower' }`. Default: false, and objects are placed as they are read.
   */
  readonly clairvoyant?: boolean | Pick<ClairvoyantOptions, 'savedMs'> | undefined;
}

const LOADER_OPTIONS: OptionNames<LoaderOptions> = {
  ahead: true,
  batchSize: true,
  clairvoyant: true,
  collate: true,
  concurrency: true,
  dropLast: true,
  epochSamples: true,
  epochs: true,
  filter: true,
  format: true,
  indexes: true,
  mostDamaged: true,
  onDamage: true,
  onProgress: true,
  onSkipped: true,
  prefetch: true,
  rank: true,
  ranks: true,
  replaceWorkers: true,
  resume: true,
  seed: true,
  shuffle: true,
  signal: true,
  transform: true,
  workerExecArgv: true,
  workers: true,
};

/** What a loader is made of, beside its options. */
interface LoaderParts {
  readonly hierarchy: Hierarchy;
  readonly placement: PlacementHandler | undefined;
  readonly cluster: ClairvoyantOptions['cluster'];
  /** Follows what is read ahead, if this is a stage of a job. */
  readonly stage: ControlStage | undefined;
  readonly clock: Clock;
  /** Where it is shown how far the search for samples is, if it takes long. */
  readonly progress: Terminal | undefined;
}

/** Finds the samples of a hierarchy, and makes a loader of them. */
export async function loaderOf<S, T, C>(
  { hierarchy, stage, clock, progress, ...parts }: LoaderParts,
  options: LoaderOptions<S, T, C>,
): Promise<DataLoader<S, T, C>> {
  assertKnown('loader', options, LOADER_OPTIONS);
  const { format: given, clairvoyant = false, filter, indexes, concurrency, onProgress, ...rest } = options;
  const { onDamage, mostDamaged, onSkipped, signal } = rest;
  const plan = clairvoyant === false ? undefined : clairvoyantWith({ ...parts, stage }, clairvoyant);
  const format = typeof given === 'string' ? ((await formatOf(given)) as SampleFormat<S>) : given;
  const bar = progress && new ProgressBar(progress, clock, 'finding samples in objects');
  const samples = await openSamples(hierarchy, {
    ...{ format, filter, indexes, concurrency, onDamage, mostDamaged, onSkipped, signal },
    onProgress: (so) => {
      bar?.update(so.objects, so.of);
      onProgress?.(so);
    },
  }).finally(() => bar?.stop());
  const make = (prefetch: DataLoaderOptions['prefetch']) =>
    new DataLoader<S, T, C>(samples, { ...rest, clairvoyant: plan, prefetch });
  const prefetch = { clock, ...rest.prefetch };
  return stage?.followed(prefetch, make) ?? make(prefetch);
}

function clairvoyantWith(
  { placement, cluster, stage }: Pick<LoaderParts, 'placement' | 'cluster' | 'stage'>,
  clairvoyant: true | Pick<ClairvoyantOptions, 'savedMs'>,
): ClairvoyantOptions {
  const policy = placement?.policy;
  if (placement === undefined || policy === undefined || !isPlanFollower(policy)) {
    const needed = 'a dataset that was opened with tiers, and with placement: { policy: "planFollower" }';
    throw configError('clairvoyant', needed, policy?.name);
  }
  const readers = stage?.control;
  const evict: Evict = (key, options) => placement.evict(key, options);
  const together = readers && { readers, evict };
  return { policy, cluster, together, ...(clairvoyant !== true && clairvoyant) };
}
