import { systemClock, type Clock, type Hierarchy } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import type { SampleSet } from '@tiered/formats';
import { checkedOptions, type DataLoaderOptions } from '../options.js';
import { Parts, type LoaderPart } from '../order/parts.js';
import { jobOf } from './job.js';
import { batchesOf, type Job } from './planner.js';

/**
 * What one rank reads of each object until the end of a training. The number of an object is its number in
 * the namespace of the hierarchy. As `frequencyPlan` and `fillOrder` of `@tiered/tiering/plans` take it.
 */
export interface ObjectReads {
  /** How often: once for each of its samples. 0 for an object that is never read. */
  readonly frequency: Uint32Array;
  /** Which of the rank's reads is the first, counted from 0. 0 for an object that is never read. */
  readonly first: Uint32Array;
}

/** Options of `objectReads`: those of a `DataLoader` that decide what it reads. */
export interface ObjectReadsOptions extends Pick<
  DataLoaderOptions,
  | 'batchSize'
  | 'seed'
  | 'epochs'
  | 'shuffle'
  | 'rank'
  | 'ranks'
  | 'dropLast'
  | 'epochSamples'
  | 'resume'
  | 'signal'
> {
  /** Lets the event loop turn. Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
}

/**
 * Foresees what a `DataLoader` with these samples and options reads of each object (HDMLP, section 3), for
 * plans that are made before there is a loader. Reads nothing.
 *
 * Draws every epoch once, which takes O(samples) each; the event loop turns between epochs. Takes 8 bytes for
 * each object of the hierarchy.
 * @throws TieredError `TIERED_CONFIG_INVALID` as `DataLoader` does, and for samples of several hierarchies.
 * An abort rejects with `signal.reason` after the epoch that is being drawn.
 */
export async function objectReads<S>(
  samples: SampleSet<S> | LoaderPart<S> | readonly LoaderPart<S>[],
  options: ObjectReadsOptions,
): Promise<ObjectReads> {
  const { clock = systemClock, signal } = options;
  const parts = new Parts(samples) as Parts;
  const { job } = jobOf(parts, checkedOptions(options), options);
  return readsOf(parts, job, clock, signal);
}

/** As `objectReads`, for a job. */
export async function readsOf(
  parts: Parts,
  job: Job,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<ObjectReads> {
  const { namespace } = hierarchyOf(parts);
  const idsOf = parts.list.map(({ samples }) => Int32Array.from(samples.keys, (key) => namespace.find(key)));
  const frequency = new Uint32Array(namespace.count);
  const first = new Uint32Array(namespace.count);
  let access = 0;
  for (let epoch = job.start.epoch; epoch < job.epochs; epoch++) {
    await clock.turn();
    signal?.throwIfAborted();
    for (const numbers of batchesOf(job, epoch)) {
      const { parts: partsOf, records } = parts.locate(numbers);
      for (let i = 0; i < records.length; i++) {
        const [part = 0, record = 0] = [partsOf[i], records[i]];
        const id = idsOf[part]?.[parts.list[part]?.samples.objectOf(record) ?? 0] ?? -1;
        if (frequency[id] === 0) first[id] = access;
        frequency[id] = (frequency[id] ?? 0) + 1;
        access += 1;
      }
    }
  }
  return { frequency, first };
}

/** @throws TieredError `TIERED_CONFIG_INVALID` for parts of several hierarchies. */
export function hierarchyOf({ list }: Parts): Hierarchy {
  const [hierarchy, ...others] = new Set(list.map(({ samples }) => samples.hierarchy));
  if (hierarchy !== undefined && others.length === 0) return hierarchy;
  throw configError('clairvoyant', 'parts of one hierarchy', `${1 + others.length}`);
}
