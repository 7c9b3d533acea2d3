import { assertCounts, configError } from '@tiered/core/internal';
import { assertIndex } from '../sequence/access-sequence.js';
import { rankSampler } from './rank-sampler.js';
import type { Sampler } from './sampler.js';
import { torchDistributedSampler } from './torch-distributed-sampler.js';

/**
 * Describes how the read order of one worker of a training is made: plain data, from which others compute its
 * reads without asking it. It names no keys, since samples are numbers in a dataset that both know.
 */
export interface DescribedSequence {
  /** `rank`: as `rankSampler` and `DataLoader`. `torch`: as `torchDistributedSampler`. */
  readonly sampler: 'rank' | 'torch';
  /** The number of the first sample that is read, in the dataset. 0 for all of it. */
  readonly first: number;
  /** The number of samples that are read, from the first on. */
  readonly samples: number;
  /** Whole number from 0 to 2^53 - 1 that decides every order. */
  readonly seed: number;
  /** Epochs of the training, at least 1. */
  readonly epochs: number;
  /** The epoch that is being read, counted from 0; the number of epochs at the end. */
  readonly epoch: number;
  /** Workers that train together, at least 1, and which of them this is, counted from 0. */
  readonly workers: number;
  readonly worker: number;
  /** Samples of a batch of one worker. Only `rank` with `dropLast` uses it. */
  readonly batchSize: number;
  /** Whether samples that do not divide evenly are left out. */
  readonly dropLast: boolean;
}

/** Larger values are a mistake, or a lie, and would take memory before any other check rejects them. */
export const MOST_DESCRIBED = {
  samples: 2 ** 32 - 2,
  epochs: 2 ** 20,
  workers: 2 ** 16,
  batchSize: 2 ** 20,
} as const;

/**
 * Makes the sampler of a description. Draws nothing yet.
 * @throws TieredError `TIERED_CONFIG_INVALID` that names the field, for an invalid description.
 */
export function describedSampler(described: DescribedSequence): Sampler {
  const { sampler, first, samples, seed, epochs, epoch, workers, worker, batchSize, dropLast } = described;
  assertCounts({ samples, first }, 0);
  assertCounts({ epochs, workers, batchSize });
  for (const [field, most] of Object.entries(MOST_DESCRIBED)) {
    const value = { samples, epochs, workers, batchSize }[field as keyof typeof MOST_DESCRIBED];
    if (value > most) throw configError(field, `at most ${most}`, value);
  }
  assertIndex('worker', worker, workers);
  assertIndex('epoch', epoch, epochs + 1);
  const drawn = { samples, seed, epochs, workers, dropLast };
  if (sampler === 'torch') return torchDistributedSampler(drawn);
  // A record may contain anything.
  if ((sampler as string) !== 'rank') throw configError('sampler', '"rank" or "torch"', sampler);
  return rankSampler({ ...drawn, batchSize });
}
