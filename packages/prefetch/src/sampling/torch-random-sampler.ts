import { assertCounts, configError } from '@tiered/core/internal';
import type { Sampler } from './sampler.js';
import { SEED_NUMBERS, torchEpochs, type TorchGeneratorOptions } from './torch-epochs.js';
import { TorchGenerator } from './torch-generator.js';
import { assertTorchSize, drawPermutation } from './torch-randperm.js';

/** Options of `torchRandomSampler`: those of PyTorch's, with the names used here. */
export interface TorchRandomSamplerOptions extends TorchGeneratorOptions {
  /** Length of the dataset, from 1 to 214,748,363, as for `torchRandperm`. */
  readonly samples: number;
  /** PyTorch's `num_samples`: accesses of an epoch, at least 1. Default: `samples`. */
  readonly length?: number | undefined;
  /** Whether a sample may come again before all others have come. Default: false, as in PyTorch. */
  readonly replacement?: boolean | undefined;
  /**
   * Where the sampler draws. `'global'`: it got no generator, so each epoch draws a seed from the global one,
   * and its order from that. `'own'`: it got a generator, of which `seed` is the seed, and draws from it.
   * `DataLoader(shuffle=True, generator=g)` hands g to its sampler. Default: `'global'`.
   */
  readonly generator?: 'global' | 'own' | undefined;
}

/**
 * Makes a sampler that gives a single process what `torch.utils.data.RandomSampler` gives it on a CPU: the
 * order of `DataLoader(dataset, shuffle=True)` after `torch.manual_seed(seed)`, with any number of the
 * loader's own workers. Checked against PyTorch 1.13 and 2.15.
 *
 * The prediction holds for trainings that draw nothing else from the generator between `manual_seed` and the
 * last epoch, and that read every epoch to its end. Weights that are initialised on the CPU and dropout on
 * the CPU draw from the global generator. So call `manual_seed` after the model is made, or give the sampler
 * a generator of its own.
 *
 * An epoch costs O(length) time once and 4 bytes per access. The two epochs drawn last are kept. With a
 * generator of the sampler's own, an epoch before them costs as much as all up to it.
 * @throws TieredError `TIERED_CONFIG_INVALID` for invalid options.
 */
export function torchRandomSampler(options: TorchRandomSamplerOptions): Sampler {
  const { samples, length = samples, replacement = false, generator = 'global' } = options;
  assertCounts({ samples, length });
  assertTorchSize('samples', samples);
  if (generator !== 'global' && generator !== 'own')
    throw configError('generator', "'global' or 'own'", generator);
  const draw = (from: TorchGenerator) =>
    replacement ? drawAgain(from, samples, length) : drawPermutations(from, samples, length);
  if (generator === 'global') {
    const seeded = (from: TorchGenerator) => draw(new TorchGenerator(from.nextSeed()));
    return torchEpochs(options, { samples, length, numbers: SEED_NUMBERS, draw: seeded });
  }
  const permutations = Math.floor(length / samples) + 1;
  const numbers = replacement ? length : permutations * (samples - 1);
  return torchEpochs(options, { samples, length, numbers, draw });
}

function drawAgain(generator: TorchGenerator, samples: number, length: number): Uint32Array {
  const order = new Uint32Array(length);
  for (let i = 0; i < length; i++) order[i] = generator.next() % samples;
  return order;
}

/** Draws one permutation after the other, the last one even if nothing of it is read, as in PyTorch. */
function drawPermutations(generator: TorchGenerator, samples: number, length: number): Uint32Array {
  const order = new Uint32Array(length);
  const whole = length - (length % samples);
  for (let at = 0; at < whole; at += samples) order.set(drawPermutation(generator, samples), at);
  if (whole === length) generator.skip(samples - 1);
  else order.set(drawPermutation(generator, samples).subarray(0, length - whole), whole);
  return order;
}
