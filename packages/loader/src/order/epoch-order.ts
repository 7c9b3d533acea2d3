import { Random } from '@tiered/core';

/** The order of all samples of a training, shared by the loaders of all ranks. */
export interface EpochOrder {
  /** Samples of an epoch. The same in every epoch. */
  readonly length: number;
  /** The inputs that determine the order: orders with equal identities are equal. JSON. */
  readonly identity: readonly unknown[];
  /** The numbers of the samples of an epoch, in order. A new array; O(length). */
  of(epoch: number): Uint32Array;
}

/** The samples in the order of their numbers, in every epoch. */
export function inOrder(samples: number): EpochOrder {
  return {
    length: samples,
    identity: ['in order', samples],
    of: () => Uint32Array.from({ length: samples }, (_, i) => i),
  };
}

/**
 * A different permutation of all samples in every epoch, as in NoPFS (section 3). Epoch e is the permutation
 * drawn by `Random(seed, e)`, which `globalBatchSampler` and `shuffledSequence` read too.
 */
export function shuffled(samples: number, seed: number): EpochOrder {
  // Rejects a bad seed here, not in the first epoch.
  new Random(seed);
  return {
    length: samples,
    identity: ['shuffled', samples, seed],
    of: (epoch) => new Random(seed, epoch).permutation(samples),
  };
}
