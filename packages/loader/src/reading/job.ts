import type { CheckedOptions, DataLoaderOptions } from '../options.js';
import { orderingOf, type Ordering } from '../order/make-order.js';
import type { Parts } from '../order/parts.js';
import { assertForm, assertState } from '../state.js';
import type { Job } from './planner.js';
import { runsOf, type Runs } from './runs.js';

/** A job, and how its samples are read. */
export interface FoundJob {
  readonly job: Job;
  readonly ordering: Ordering;
  readonly lanes: number;
  /** By part. Made when it is first asked for. */
  readonly runs: () => readonly Runs[];
}

/**
 * Finds the order that options ask for, and where the rest of the training begins: for a loader, and for who
 * foresees one.
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
