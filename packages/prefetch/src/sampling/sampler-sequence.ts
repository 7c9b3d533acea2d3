import { configError } from '@tiered/core/internal';
import { KeySequence, type AccessSequence } from '../sequence/access-sequence.js';
import type { Sampler } from './sampler.js';

/**
 * What one worker of a sampler reads, for a `Prefetcher`.
 * @param sampler Sequences of one sampler share the orders that it keeps.
 * @param worker Counted from 0.
 * @param keys The object of each sample. Kept, not copied, so that the sequences of many workers can share
 * it: leave it as it is.
 * @throws TieredError `TIERED_CONFIG_INVALID` if there are not as many keys as samples, or for a worker that
 * there is not.
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
