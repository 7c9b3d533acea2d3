import { Random } from '@tiered/core';
import { assertCounts, configError } from '@tiered/core/internal';
import { ArrangedSampler } from './arranged-sampler.js';
import type { Sampler } from './sampler.js';
import { Shares } from './shares.js';

/** Options of `rankSampler`. */
export interface RankSamplerOptions {
  /** Samples of the dataset. */
  readonly samples: number;
  /** At least 1. Default: 1. */
  readonly epochs?: number | undefined;
  /** The seed of the training: a whole number from 0 to 2^53 - 1. Default: 0, as in a `DataLoader`. */
  readonly seed?: number | undefined;
  /** Processes that train together, at least 1. */
  readonly workers: number;
  /**
   * Whether samples that do not fill a batch for every worker are left out of an epoch. Default: false. If
   * samples do not divide evenly, the first of the epoch are read again.
   */
  readonly dropLast?: boolean | undefined;
  /** Samples of a batch of one worker. Needed with `dropLast`; without, it changes nothing. */
  readonly batchSize?: number | undefined;
}

/**
 * Predicts what each rank of a `DataLoader` of `@tiered/loader` reads, if its samples are mixed over the
 * whole dataset and its parts have no weights. Epoch e is the permutation that `Random(seed, e)` of
 * `@tiered/core` draws, and the ranks take turns in it. The loader calls the same function. A single worker
 * reads what `shuffledSequence` reads.
 *
 * An epoch costs O(samples) time once and 4 bytes per sample. The two epochs drawn last are kept.
 * @throws TieredError `TIERED_CONFIG_INVALID` for invalid options.
 */
export function rankSampler(options: RankSamplerOptions): Sampler {
  const { samples, epochs = 1, seed = 0, workers, dropLast = false, batchSize } = options;
  assertCounts({ samples }, 0);
  assertCounts({ epochs, workers, ...(batchSize !== undefined && { batchSize }) });
  if (dropLast && batchSize === undefined)
    throw configError('batchSize', 'the samples of a batch of one worker, with dropLast', batchSize);
  // Rejects a bad seed here, not in the first epoch.
  new Random(seed);
  const shares = new Shares({
    length: samples,
    done: 0,
    batchSize: batchSize ?? 1,
    ranks: workers,
    dropLast,
  });
  return new ArrangedSampler({
    samples,
    epochs,
    workers,
    lengthOf: () => shares.samples,
    arrange: (epoch) => arranged(new Random(seed, epoch).permutation(samples), shares, workers),
  });
}

/** The samples of all ranks, those of rank 0 first. */
function arranged(order: Uint32Array, shares: Shares, workers: number): Uint32Array {
  const all = new Uint32Array(workers * shares.samples);
  let to = 0;
  for (let rank = 0; rank < workers; rank++)
    for (let batch = 0; batch < shares.batches; batch++) {
      const size = shares.sizeOf(batch);
      for (let i = 0; i < size; i++) all[to++] = order[shares.positionOf(rank, batch, i)] ?? 0;
    }
  return all;
}
