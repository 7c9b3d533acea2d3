import { assertCounts, configError } from '@tiered/core/internal';
import type { Sampler } from './sampler.js';
import { torchEpochs, type TorchGeneratorOptions } from './torch-epochs.js';
import type { TorchGenerator } from './torch-generator.js';
import { assertTorchSize, drawPermutation } from './torch-randperm.js';

/** Options of `torchSubsetRandomSampler`: those of PyTorch's, with the names used here. */
export interface TorchSubsetRandomSamplerOptions extends TorchGeneratorOptions {
  /** Length of the dataset that the indices are of, at least 1. */
  readonly samples: number;
  /**
   * The samples that are read, such as those of a split: whole numbers from 0 to `samples - 1`. A duplicate
   * is read twice. From 1 to 214,748,363 of them, as for `torchRandperm`. Copied.
   */
  readonly indices: ArrayLike<number>;
}

/**
 * Makes a sampler that gives a single process what `torch.utils.data.SubsetRandomSampler` gives it on a CPU,
 * after `torch.manual_seed(seed)` or from a generator that the sampler got. Both draw alike: it takes its
 * order from the global generator itself, and not a seed for it. Checked against PyTorch 1.13.
 *
 * The prediction holds for trainings that draw nothing else from that generator, as `torchRandomSampler`
 * does. An epoch costs O(indices) time once and 4 bytes per index. The indices and the two epochs drawn last
 * are kept. An epoch before them costs as much as all up to it.
 * @throws TieredError `TIERED_CONFIG_INVALID` for invalid options.
 */
export function torchSubsetRandomSampler(options: TorchSubsetRandomSamplerOptions): Sampler {
  const { samples, indices: given } = options;
  const { length } = given;
  assertCounts({ samples, 'indices.length': length });
  assertTorchSize('indices.length', length);
  const indices = new Uint32Array(length);
  for (let i = 0; i < length; i++) {
    const { [i]: index = NaN } = given;
    if (!Number.isInteger(index) || index < 0 || index >= samples)
      throw configError('indices', `whole numbers from 0 to ${samples - 1}`, index);
    indices[i] = index;
  }
  const draw = (generator: TorchGenerator) =>
    drawPermutation(generator, length).map((at) => indices[at] ?? 0);
  return torchEpochs(options, { samples, length, numbers: length - 1, draw });
}
