import type { Limit } from '@tiered/prefetch';
import type { LoaderEpoch } from './epochs.js';

/** Where less than this part of the time was waited, batches were there in time. */
const HARDLY = 0.05;
/** The verdict on the reading counts another waiting than that of the training, in the same report. */
const WHO_WAITS = 'the reading, whose consumers make the batches.';

/** What limited an epoch, and what would change that. */
export interface EpochLimit {
  /**
   * `training` computes for longer than batches take, so that waiting is no matter. `batches` are not
   * decoded, transformed and collated in time, though their samples are there. The others are verdicts on the
   * reading.
   */
  readonly what: 'training' | 'batches' | Limit;
  /** A few sentences. */
  readonly text: string;
}

/** Undefined where nothing is known of the reading, or the epoch took no time. */
export function limitOf(epoch: LoaderEpoch, workers: number): EpochLimit | undefined {
  const { seconds, waitedSeconds, reading } = epoch;
  if (seconds === 0) return undefined;
  if (waitedSeconds / seconds < HARDLY)
    return { what: 'training', text: 'the training itself: batches were there before it asked.' };
  if (reading === undefined) return undefined;
  // The reading waits for nobody where batches cannot be made fast enough.
  if (reading.starved < HARDLY) {
    const advice = workers === 0 ? 'Give the loader workers' : 'Give the loader more workers';
    const text = `decoding, transform and collate: samples were there before they were asked for. ${advice}.`;
    return { what: 'batches', text };
  }
  return { what: reading.verdict.limit, text: `${WHO_WAITS} ${reading.verdict.text}` };
}

/** Epochs one after the other that the same thing limited, and what is said of the last of them. */
export interface LimitedEpochs extends EpochLimit {
  readonly first: number;
  readonly last: number;
}

/** Puts epochs together that the same thing limited, so that many epochs are few sentences. */
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
