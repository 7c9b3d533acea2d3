import { TieredError } from '@tiered/core';
import { rankSampler, torchDistributedSampler, type Sampler } from '@tiered/prefetch/sampling';
import type { TrainingOptions } from '../training.js';

/**
 * The sampler of a training over so many samples: what a `DataLoader` draws, or PyTorch.
 * @throws TieredError `TIERED_CONFIG_INVALID` for options that do not go together.
 */
export function samplerOf(samples: number, options: TrainingOptions): Sampler {
  const { seed, epochs, workers, worker, batchSize, dropLast = false, torch = false } = options;
  if (seed === undefined) throw wrong('--seed', 'the seed of the training: it decides the order');
  if (worker >= workers) throw wrong('--worker', `a worker from 0 to ${workers - 1}`);
  if (torch) {
    if (batchSize !== undefined)
      throw wrong('--batch-size', 'nothing with --torch, whose order has no batches');
    return torchDistributedSampler({ samples, epochs, seed, workers, dropLast });
  }
  if (dropLast && batchSize === undefined)
    throw wrong('--batch-size', 'the samples of a batch of one worker, with --drop-last');
  return rankSampler({ samples, epochs, seed, workers, batchSize, dropLast });
}

/** An option that does not go with the others. */
export function wrong(option: string, expected: string): TieredError {
  return new TieredError('TIERED_CONFIG_INVALID', `${option}: expected ${expected}`);
}

/** One access of a worker to an object. */
export interface FoundAccess {
  readonly epoch: number;
  readonly position: number;
}

/** The next accesses of a worker to an object, one an epoch at most. */
export function nextAccesses(
  sampler: Sampler,
  worker: number,
  sample: number,
  { from, most }: { readonly from: number; readonly most: number },
): FoundAccess[] {
  const found: FoundAccess[] = [];
  for (let epoch = from; epoch < sampler.epochs && found.length < most; epoch++) {
    const position = sampler.epoch(worker, epoch).indexOf(sample);
    if (position !== -1) found.push({ epoch, position });
  }
  return found;
}
