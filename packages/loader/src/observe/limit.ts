import type { Limit } from '@tiered/prefetch';
import type { LoaderEpoch } from './epochs.js';

/** Fraction of the time spent waiting, below which batches count as in time. */
const HARDLY = 0.05;
/** The verdict on reading counts other waits than the training's, in the same report. */
const WHO_WAITS = 'the reading, whose consumers make the batches.';

/** The limit of an epoch, with advice on how to change it. */
export interface EpochLimit {
  /**
   * `training`: computing takes longer than making batches, so waits do not matter. `batches`: batches are
   * not decoded, transformed and collated in time, although their samples have been read. The others are
   * verdicts on reading.
   */
  readonly what: 'training' | 'batches' | Limit;
  /** A few sentences. */
  readonly text: string;
}

/** Undefined if nothing is known of the reading, or the epoch took no time. */
export function limitOf(epoch: LoaderEpoch, workers: number): EpochLimit | undefined {
  const { seconds, waitedSeconds, reading } = epoch;
  if (seconds === 0) return undefined;
  if (waitedSeconds / seconds < HARDLY)
    return { what: 'training', text: 'the training itself: batches were there before it asked.' };
  if (reading === undefined) return undefined;
  // If batches cannot be made fast enough, reading is not the limit.
  if (reading.starved < HARDLY) {
    const advice = workers === 0 ? 'Give the loader workers' : 'Give the loader more workers';
    const text = `decoding, transform and collate: samples were there before they were asked for. ${advice}.`;
    return { what: 'batches', text };
  }
  return { what: reading.verdict.limit, text: `${WHO_WAITS} ${reading.verdict.text}` };
}

/** Consecutive epochs with the same limit, and the text of the last one. */
export interface LimitedEpochs extends EpochLimit {
  readonly first: number;
  readonly last: number;
}

/** Groups consecutive epochs with the same limit, so that many epochs make few sentences. */
export function limitsOf(
  epochs: readonly { readonly epoch: number; readonly limit?: EpochLimit | undefined }[],
): LimitedEpochs[] {
  const limits: LimitedEpochs[] = [];
  for (const { epoch, limit } of epochs) {
    if (limit === undefined) continue;
    const before = limits.at(-1);
    const first = before?.what === limit.what ? (limits.pop()?.first ?? epoch) : epoch;
    limits.push({ ...limit, first, last: epoch });
  }
  return limits;
}
