import { systemClock, type Clock } from '@tiered/core';
import type { SampleSet } from '@tiered/formats';
import { checkedOptions, type CheckedOptions, type DataLoaderOptions } from '../options.js';
import { orderingOf, type Ordering } from '../order/make-order.js';
import { Parts, type LoaderPart } from '../order/parts.js';
import { assertForm, assertState } from '../state.js';
import type { Job } from './planner.js';
import { runsOf, type Runs } from './runs.js';
import { readsOf, type ObjectReads } from './reads-of-job.js';

/** A job, and how its samples are read. */
export interface FoundJob {
  readonly job: Job;
  readonly ordering: Ordering;
  readonly lanes: number;
  /** By part. Made when it is first asked for. */
  readonly runs: () => readonly Runs[];
}

/**
 * Finds the order that options ask for, and where the rest of the training begins: for a loader, and for
 * `objectReads`, which foresees one.
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
