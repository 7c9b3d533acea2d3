import { configError } from '@tiered/core/internal';
import type { SharesOptions } from '@tiered/prefetch/internal';
import type { Runs } from '../reading/runs.js';
import { inOrder, shuffled, type EpochOrder } from './epoch-order.js';
import { mixtureOf } from './mixture.js';
import type { Parts } from './parts.js';
import { windowShuffled } from './window-shuffle.js';

/** Default bytes of a window, if samples cannot be read singly. */
const WINDOW_BYTES = 64 * 2 ** 20;

/** An order, with the way samples are read: singly, or in runs of neighbours. */
export interface Ordering {
  readonly order: EpochOrder;
  readonly reads: 'singly' | 'runs';
  /** Bytes of a window, if there are windows. */
  readonly windowBytes?: number | undefined;
}

/** Inputs of an order. */
export interface OrderingOptions {
  readonly parts: Parts;
  /** By part. */
  readonly runs: () => readonly Runs[];
  readonly seed: number;
  readonly shuffle: boolean | { readonly windowBytes: number } | undefined;
  readonly lanes: number;
  readonly epochSamples: number | undefined;
}

/** Makes the order of all samples from a loader's options. */
export function orderingOf({ parts, runs, seed, shuffle, lanes, epochSamples }: OrderingOptions): Ordering {
  const isSingle = parts.list.every(({ samples }) => samples.isSingle);
  const hasWeights = epochSamples !== undefined || parts.list.some(({ weight }) => weight !== undefined);
  const windowBytes = typeof shuffle === 'object' ? shuffle.windowBytes : WINDOW_BYTES;
  const isWhole = isSingle && (shuffle ?? true) === true;
  if (!hasWeights && shuffle === false) return { order: inOrder(parts.total), reads: 'runs' };
  if (!hasWeights && isWhole) return { order: shuffled(parts.total, seed), reads: 'singly' };
  const orderOf = (part: number): EpochOrder => {
    const size = parts.sizes[part] ?? 0;
    // Seeds differ, so that parts of the same size do not have the same order.
    const own = (seed + part) % 2 ** 53;
    if (shuffle === false) return inOrder(size);
    if (isWhole) return shuffled(size, own);
    const { [part]: list } = runs();
    return windowShuffled({
      runs: list as Runs,
      seed: own,
      windowBytes,
      lanes,
      only: parts.list[part]?.only,
    });
  };
  const mixed = parts.list.map(({ weight }, part) => ({
    order: orderOf(part),
    first: parts.firstOf(part),
    weight: weight ?? parts.sizes[part] ?? 0,
  }));
  const [only] = mixed;
  const order =
    mixed.length === 1 && !hasWeights && only !== undefined
      ? only.order
      : mixtureOf(mixed, epochSamples ?? parts.total);
  const reads = isWhole ? 'singly' : 'runs';
  return { order, reads, ...(shuffle !== false && !isWhole && { windowBytes }) };
}

/**
 * Reports that `dropLast` leaves out every sample, so that a training would end at once and seem complete.
 * With enough samples for a batch of one rank it is a warning: the options work for fewer ranks.
 * @throws TieredError `TIERED_CONFIG_INVALID`
 */
export function refuseNoBatches(
  { length }: EpochOrder,
  { batchSize, ranks }: Pick<SharesOptions, 'batchSize' | 'ranks'>,
): void {
  if (length < batchSize)
    throw configError(
      'batchSize',
      `at most ${length} with dropLast, as an epoch has no more samples`,
      batchSize,
    );
  process.emitWarning(
    `The loader has no batches: ${ranks} ranks take ${batchSize} samples each at a time, dropLast leaves out what is less, and an epoch has ${length}. Take smaller batches, fewer ranks, or dropLast: false.`,
    'TieredWarning',
  );
}
