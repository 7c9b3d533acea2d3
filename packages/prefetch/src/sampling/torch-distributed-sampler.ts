import { assertCounts } from '@tiered/core/internal';
import { ArrangedSampler } from './arranged-sampler.js';
import type { Sampler } from './sampler.js';
import { assertTorchSeed } from './torch-generator.js';
import { assertTorchSize, torchRandperm } from './torch-randperm.js';

/** Options of `torchDistributedSampler`: those of PyTorch's, with the names used here. */
export interface TorchDistributedSamplerOptions {
  /** Length of the dataset. With `shuffle` at most 214,748,363, as for `torchRandperm`. */
  readonly samples: number;
  /** At least 1. Default: 1. */
  readonly epochs?: number | undefined;
  /** PyTorch's `num_replicas`, at least 1; a worker is a `rank`. */
  readonly workers: number;
  /** Default: true, as in PyTorch. */
  readonly shuffle?: boolean | undefined;
  /** Whole number from 0 to 2^53 - 1. Default: 0, as in PyTorch. */
  readonly seed?: number | undefined;
  /**
   * Whether the tail is dropped, instead of filled up, so that all workers read equally many samples.
   * Default: false, as in PyTorch.
   */
  readonly dropLast?: boolean | undefined;
}

/**
 * Makes a sampler that gives each worker what `torch.utils.data.DistributedSampler` gives each rank in each
 * epoch, if the training calls `set_epoch(epoch)`, as PyTorch requires. An epoch is the permutation of
 * `torchRandperm(samples, seed + epoch)`, filled up from its beginning or cut so that it divides evenly.
 * Worker w reads every `workers`-th sample of it, from the w-th on.
 *
 * The order is that of `DataLoader` with any number of its own workers. The `drop_last` of `DataLoader`
 * leaves out the end of every worker's epoch, so that `epochLength - epochLength % batch_size` accesses are
 * read.
 *
 * An epoch costs O(samples) time once (half a second for 14.2 million) and 4 bytes per sample. The two epochs
 * drawn last are kept.
 * @throws TieredError `TIERED_CONFIG_INVALID` for invalid options.
 */
export function torchDistributedSampler(options: TorchDistributedSamplerOptions): Sampler {
  const { samples, epochs = 1, workers, shuffle = true, seed = 0, dropLast = false } = options;
  assertCounts({ samples }, 0);
  assertCounts({ epochs, workers });
  if (shuffle) assertTorchSize('samples', samples);
  assertTorchSeed(seed);
  // The seed of the last epoch.
  assertTorchSeed(seed + (epochs - 1));
  const length = dropLast ? Math.floor(samples / workers) : Math.ceil(samples / workers);
  const order = (epoch: number) => (shuffle ? torchRandperm(samples, seed + epoch) : inOrder(samples));
  return new ArrangedSampler({
    samples,
    epochs,
    workers,
    lengthOf: () => length,
    arrange: (epoch) => stride(order(epoch), workers, length),
  });
}

function inOrder(samples: number): Uint32Array {
  return new Uint32Array(samples).map((_, i) => i);
}

/** Deals an order out to the workers, starting again from its beginning if it is too short. */
function stride(order: Uint32Array, workers: number, length: number): Uint32Array {
  const dealt = new Uint32Array(workers * length);
  let next = 0;
  for (let position = 0; position < length; position++) {
    for (let worker = 0; worker < workers; worker++) {
      dealt[worker * length + position] = order[next] ?? 0;
      next = next + 1 === order.length ? 0 : next + 1;
    }
  }
  return dealt;
}
