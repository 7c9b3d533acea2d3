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
   * Returns what a worker reads in an epoch, in order. The result is a view that is valid until another epoch
   * is asked for: copy what you keep.
   */
  epoch(worker: number, epoch: number): Uint32Array;
  /** Returns the sample of one access, without replaying those before it. */
  at(worker: number, epoch: number, position: number): number;
}
