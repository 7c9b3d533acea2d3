/**
 * Which sample every worker of a training run reads, and when: what NoPFS calls clairvoyance (section 3).
 * Samples are numbers from 0 to `samples - 1`. Computed when asked for, in O(samples) memory, and the same on
 * every machine, in every version, for the same arguments.
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
   * What a worker reads in an epoch, in order. A view that is valid until another epoch is asked for: copy
   * what you keep.
   */
  epoch(worker: number, epoch: number): Uint32Array;
  /** One access, without replaying those before it. */
  at(worker: number, epoch: number, position: number): number;
}
