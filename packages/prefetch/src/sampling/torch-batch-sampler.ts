import { assertCounts } from '@tiered/core/internal';
import { assertIndex } from '../sequence/access-sequence.js';
import type { Sampler } from './sampler.js';

/** Options of `torchBatchSampler`: those of PyTorch's, with the names used here. */
export interface TorchBatchSamplerOptions {
  /** Samples of a batch of one worker, at least 1. */
  readonly batchSize: number;
  /** Whether samples that do not fill a batch are left out. Default: false, as in `DataLoader`. */
  readonly dropLast?: boolean | undefined;
}

/** The sampler that `torchBatchSampler` makes. */
export interface TorchBatchSampler extends Sampler {
  readonly batchSize: number;
  /**
   * Batches of one worker in one epoch.
   * @throws TieredError `TIERED_CONFIG_INVALID` for a worker that does not exist.
   */
  batches(worker: number): number;
  /**
   * Returns a batch of a worker, counted from 0 in each epoch, as a view that is valid until another epoch is
   * requested.
   * @throws TieredError `TIERED_CONFIG_INVALID` for a worker, an epoch or a batch that does not exist.
   */
  batch(worker: number, epoch: number, batch: number): Uint32Array;
}

/**
 * Cuts the samples that each worker of a sampler reads into batches, as `torch.utils.data.BatchSampler` does,
 * and `DataLoader` with its `batch_size` and `drop_last`. Costs nothing beyond what the sampler costs.
 * @param sampler Any sampler, such as `torchRandomSampler` or `torchDistributedSampler`.
 * @throws TieredError `TIERED_CONFIG_INVALID` for invalid options.
 */
export function torchBatchSampler(
  sampler: Sampler,
  { batchSize, dropLast = false }: TorchBatchSamplerOptions,
): TorchBatchSampler {
  assertCounts({ batchSize });
  return new BatchSampler(sampler, batchSize, dropLast);
}

class BatchSampler implements TorchBatchSampler {
  readonly samples: number;
  readonly epochs: number;
  readonly workers: number;
  readonly batchSize: number;
  readonly #sampler: Sampler;
  readonly #dropLast: boolean;

  constructor(sampler: Sampler, batchSize: number, dropLast: boolean) {
    this.samples = sampler.samples;
    this.epochs = sampler.epochs;
    this.workers = sampler.workers;
    this.batchSize = batchSize;
    this.#sampler = sampler;
    this.#dropLast = dropLast;
  }

  epochLength(worker: number): number {
    const length = this.#sampler.epochLength(worker);
    return this.#dropLast ? length - (length % this.batchSize) : length;
  }

  epoch(worker: number, epoch: number): Uint32Array {
    return this.#sampler.epoch(worker, epoch).subarray(0, this.epochLength(worker));
  }

  at(worker: number, epoch: number, position: number): number {
    assertIndex('position', position, this.epochLength(worker));
    return this.#sampler.at(worker, epoch, position);
  }

  batches(worker: number): number {
    return Math.ceil(this.epochLength(worker) / this.batchSize);
  }

  batch(worker: number, epoch: number, batch: number): Uint32Array {
    assertIndex('batch', batch, this.batches(worker));
    const from = batch * this.batchSize;
    return this.epoch(worker, epoch).subarray(from, from + this.batchSize);
  }
}
