import { configError } from '@tiered/core/internal';
import { KeySequence, type AccessSequence } from '../sequence/access-sequence.js';
import type { Sampler } from './sampler.js';

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
