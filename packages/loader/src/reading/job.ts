import { systemClock, type Clock } from '@tiered/core';
import type { SampleSet } from '@tiered/formats';
import { checkedOptions, type CheckedOptions, type DataLoaderOptions } from '../options.js';
import { orderingOf, type Ordering } from '../order/make-order.js';
import { Parts, type LoaderPart } from '../order/parts.js';
import { assertForm, assertState } from '../state.js';
import type { Job } from './planner.js';
import { runsOf, type Runs } from './runs.js';
import { readsOf, type ObjectReads } from './reads-of-job.js';

/** A job, and the way its samples are read. */
export interface FoundJob {
  readonly job: Job;
  readonly ordering: Ordering;
  readonly lanes: number;
  /** By part. Made at the first call. */
  readonly runs: () => readonly Runs[];
}

/**
 * Finds the order that the options request, and the start of the rest of the training: for a loader, and for
 * `objectReads`, which predicts one.
 * @throws TieredError `TIERED_CONFIG_INVALID`
 */
export function jobOf(
  parts: Parts,
  checked: CheckedOptions,
  { resume, epochSamples }: Pick<DataLoaderOptions, 'resume' | 'epochSamples'>,
): FoundJob {
  if (resume !== undefined) assertForm(resume);
  const { seed, shuffle, epochs, batchSize, rank, ranks, dropLast } = checked;
  const lanes = resume?.lanes ?? ranks;
  let known: readonly Runs[] | undefined;
  const runs = () => (known ??= runsOf(parts));
  const ordering = orderingOf({ parts, runs, seed, shuffle, lanes, epochSamples });
  const { order } = ordering;
  if (resume !== undefined) assertState(resume, order, parts, epochs);
  const start = { epoch: resume?.epoch ?? 0, done: resume?.done ?? 0 };
  return { job: { order, epochs, start, batchSize, rank, ranks, dropLast }, ordering, lanes, runs };
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
  /** The clock that lets the event loop turn. Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
}

/**
 * Predicts the reads of each object by a `DataLoader` with these samples and options (HDMLP, section 3), for
 * plans made before there is a loader. Reads no data.
 *
 * Draws every epoch once, which takes O(samples) each; the event loop turns between epochs. Takes 8 bytes for
 * each object of the hierarchy.
 * @throws TieredError `TIERED_CONFIG_INVALID` like `DataLoader`, and for samples of several hierarchies. An
 * abort rejects with `signal.reason` after the epoch that is being drawn.
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
