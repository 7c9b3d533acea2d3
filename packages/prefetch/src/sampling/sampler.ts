import { configError } from '@tiered/core/internal';
import { KeySequence, type AccessSequence } from '../sequence/access-sequence.js';

/**
 * Knows which sample every worker of a training run reads, and when: what NoPFS calls clairvoyance (section
 * 3). Samples are numbers from 0 to `samples - 1`. Computed on demand, in O(samples) memory. The same
 * arguments give the same samples on every machine and in every version.
 */
export interface Sampler {
  /** Samples of the dataset, F. */
  readonly samples: number;
  /** Epochs, E. */
  readonly epochs: number;
  /** Workers, N: processes that train together. */
  readonly workers: number;
  /** Accesses of one worker in one epoch; the same in all epochs. */
  epochLength(worker: number): number;
  /**
   * Returns the samples that a worker reads in an epoch, in order. The result is a view that is valid until
   * another epoch is requested: copy what you keep.
   */
  epoch(worker: number, epoch: number): Uint32Array;
  /** Returns the sample of one access, without replaying those before it. */
  at(worker: number, epoch: number, position: number): number;
}

/**
 * Makes the sequence that one worker of a sampler reads, for a `Prefetcher`.
 * @param sampler Sequences of one sampler share the orders that it keeps.
 * @param worker Counted from 0.
 * @param keys The key of each sample's object. Kept, not copied, so that the sequences of many workers can
 * share it: do not change it.
 * @throws TieredError `TIERED_CONFIG_INVALID` if the number of keys is not that of the samples, or for a
 * worker that does not exist.
 */
export function samplerSequence(sampler: Sampler, worker: number, keys: ArrayLike<string>): AccessSequence {
  if (keys.length !== sampler.samples)
    throw configError('keys', `${sampler.samples} keys, one for each sample`, keys.length);
  return new KeySequence(keys, {
    epochs: sampler.epochs,
    epochLength: sampler.epochLength(worker),
    indexAt: (epoch, position) => sampler.at(worker, epoch, position),
  });
}
