/** Describes how the rest of an epoch is cut into batches for ranks. */
export interface SharesOptions {
  /** Samples of the epoch. */
  readonly length: number;
  /** Samples of the epoch that are done. */
  readonly done: number;
  /** Samples of a batch of one rank. */
  readonly batchSize: number;
  readonly ranks: number;
  /** Whether samples that do not fill a batch for every rank are left out. */
  readonly dropLast: boolean;
}

/**
 * Says which rank of a training reads which sample: the one function for loaders, and for code that predicts
 * them.
 *
 * Covers the batches of all ranks in the rest of an epoch. In batch k the ranks take turns: the sample at
 * position p goes to rank p modulo ranks. So every rank has as many batches as the others, with as many
 * samples. If the last samples do not divide evenly, the first of the epoch are read again, as PyTorch's
 * `DistributedSampler` does.
 */
export class Shares {
  /** Batches of every rank. */
  readonly batches: number;
  readonly #options: SharesOptions;
  /** Positions from `done` on, with those that are read again. */
  readonly #positions: number;
  /** Samples of a batch of all ranks. */
  readonly #global: number;

  constructor(options: SharesOptions) {
    const { length, done, batchSize, ranks, dropLast } = options;
    this.#options = options;
    this.#global = batchSize * ranks;
    const left = length - done;
    this.#positions = dropLast ? left - (left % this.#global) : Math.ceil(left / ranks) * ranks;
    this.batches = Math.ceil(this.#positions / this.#global);
  }

  /** Samples of every rank, in all its batches. */
  get samples(): number {
    return this.#positions / this.#options.ranks;
  }

  /** Samples of a rank in a batch. */
  sizeOf(batch: number): number {
    const { ranks } = this.#options;
    return Math.min(this.#global, this.#positions - batch * this.#global) / ranks;
  }

  /** The position in the epoch of a sample of a batch. */
  positionOf(rank: number, batch: number, i: number): number {
    const { done, ranks, length } = this.#options;
    const position = done + batch * this.#global + i * ranks + rank;
    return position < length ? position : (position - length) % length;
  }

  /** Samples of the epoch that are done after a batch of all ranks. */
  doneAfter(batch: number): number {
    const { done, length } = this.#options;
    return batch === this.batches - 1 ? length : Math.min(length, done + (batch + 1) * this.#global);
  }
}
