import { systemClock, type Clock } from '@tiered/core';
import type { SampleSet } from '@tiered/formats';
import { checkedOptions, type DataLoaderOptions } from '../options.js';
import { Parts, type LoaderPart } from '../order/parts.js';
import { jobOf } from './job.js';
import { readsOf, type ObjectReads } from './reads-of-job.js';

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
