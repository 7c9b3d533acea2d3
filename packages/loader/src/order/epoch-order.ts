import { Random } from '@tiered/core';

/** The order of all samples of a training, as the loaders of all ranks share it. */
export interface EpochOrder {
  /** Samples of an epoch. The same in every epoch. */
  readonly length: number;
  /** What decides it: two orders with the same are the same. JSON. */
  readonly identity: readonly unknown[];
  /** The numbers of the samples of an epoch, in order. A new array; O(length). */
  of(epoch: number): Uint32Array;
}

/** The samples as they are numbered, in every epoch. */
export function inOrder(samples: number): EpochOrder {
  return {
    length: samples,
    identity: ['in order', samples],
    of: () => Uint32Array.from({ length: samples }, (_, i) => i),
  };
}

/**
 * Every epoch a permutation of its own of all samples, as NoPFS reads (section 3). Epoch e is the permutation
 * that `Random(seed, e)` draws, which is also what `globalBatchSampler` and `shuffledSequence` read.
 */
export function shuffled(samples: number, seed: number): EpochOrder {
  // Refuses a bad seed here, not in the first epoch.
  new Random(seed);
  return {
    length: samples,
    identity: ['shuffled', samples, seed],
    of: (epoch) => new Random(seed, epoch).permutation(samples),
  };
}
