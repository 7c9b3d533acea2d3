import { assertCounts, configError } from '@tiered/core/internal';
import { ArrangedSampler } from './arranged-sampler.js';
import type { Sampler } from './sampler.js';
import { assertTorchSeed, TorchGenerator } from './torch-generator.js';

/** Numbers that a seed of 64 bits takes. */
export const SEED_NUMBERS = 2;

/** Options of the samplers that draw from one generator of PyTorch, epoch after epoch. */
export interface TorchGeneratorOptions {
  /** At least 1. Default: 1. */
  readonly epochs?: number | undefined;
  /** Whole number from 0 to 2^53 - 1: that of `torch.manual_seed(seed)`, or of the generator's own. */
  readonly seed: number;
  /**
   * When an iterator of `DataLoader` draws its base seed from the same generator, before the sampler draws.
   * `'every-epoch'`: a `DataLoader` without persistent workers. `'once'`: one with `persistent_workers=True`.
   * `'never'`: none, since the sampler is read without a `DataLoader`, or the `DataLoader` has another
   * generator than the sampler. Default: `'every-epoch'`.
   */
  readonly baseSeed?: 'every-epoch' | 'once' | 'never' | undefined;
}

/** The numbers that a sampler draws in one epoch. */
export interface TorchEpoch {
  /** Samples of the dataset. */
  readonly samples: number;
  /** Accesses of an epoch. */
  readonly length: number;
  /** 32-bit numbers of the generator that `draw` takes. */
  readonly numbers: number;
  readonly draw: (generator: TorchGenerator) => Uint32Array;
}

/**
 * Makes the sampler of a single process whose epochs come from one generator.
 * @throws TieredError `TIERED_CONFIG_INVALID` for invalid options.
 */
export function torchEpochs(
  { epochs = 1, seed, baseSeed = 'every-epoch' }: TorchGeneratorOptions,
  { samples, length, numbers, draw }: TorchEpoch,
): Sampler {
  assertCounts({ epochs });
  assertTorchSeed(seed);
  if (!['every-epoch', 'once', 'never'].includes(baseSeed))
    throw configError('baseSeed', "'every-epoch', 'once' or 'never'", baseSeed);
  const first = baseSeed === 'once' ? SEED_NUMBERS : 0;
  const each = baseSeed === 'every-epoch' ? SEED_NUMBERS : 0;
  let generator = new TorchGenerator(seed);
  /** The next epoch that `generator` draws. */
  let next = 0;
  const arrange = (epoch: number) => {
    if (epoch < next) [generator, next] = [new TorchGenerator(seed), 0];
    if (next === 0) generator.skip(first);
    generator.skip((epoch - next) * (each + numbers) + each);
    next = epoch + 1;
    return draw(generator);
  };
  return new ArrangedSampler({ samples, epochs, workers: 1, lengthOf: () => length, arrange });
}
