import { assertCounts, configError } from '@tiered/core/internal';
import type { Sampler } from './sampler.js';
import { torchEpochs, type TorchGeneratorOptions } from './torch-epochs.js';
import type { TorchGenerator } from './torch-generator.js';

/** Most weights that `torch.multinomial` takes. */
const MOST_WEIGHTS = 2 ** 24;

/** Numbers that a double takes. */
const DOUBLE_NUMBERS = 2;

/** Options of `torchWeightedRandomSampler`: those of PyTorch's, with the names used here. */
export interface TorchWeightedRandomSamplerOptions extends TorchGeneratorOptions {
  /** How likely each sample is, from 0 on; they need not add up to 1. From 1 to 2^24 weights. Copied. */
  readonly weights: ArrayLike<number>;
  /** PyTorch's `num_samples`: accesses of an epoch, at least 1. */
  readonly length: number;
  /** Whether a sample may come several times in an epoch. Default: true, as in PyTorch. */
  readonly replacement?: boolean | undefined;
}

/**
 * Makes a sampler that gives a single process what `torch.utils.data.WeightedRandomSampler` gives it on a
 * CPU: the numbers of `torch.multinomial` for weights of 64 bits, after `torch.manual_seed(seed)` or from a
 * generator that the sampler got. Checked against PyTorch 1.13 and 2.15.
 *
 * The prediction holds for trainings that draw nothing else from that generator, as `torchRandomSampler`
 * does. Without replacement, PyTorch 2.0 to 2.6 draws other numbers if it was built with MKL, as on x86.
 *
 * With replacement an epoch costs O(length log weights) time, and 8 bytes per weight are kept. Without, it
 * costs O(weights log weights) time, 8 bytes per weight, and 12 more while it is drawn. Two samples whose
 * keys differ in their last bit only may change places there, as logarithms are not rounded alike everywhere.
 * An epoch before the two that are kept costs as much as all up to it.
 * @throws TieredError `TIERED_CONFIG_INVALID` for invalid options, and for what depends on the version of
 * PyTorch: an epoch of one access with replacement, and one without that needs samples of weight 0.
 */
export function torchWeightedRandomSampler(options: TorchWeightedRandomSamplerOptions): Sampler {
  const { length, replacement = true } = options;
  const given = options.weights.length;
  if (given === 0 || given > MOST_WEIGHTS)
    throw configError('weights', `1 to ${MOST_WEIGHTS} numbers`, given);
  const weights = Float64Array.from(options.weights);
  const samples = weights.length;
  assertWeights(weights);
  assertCounts({ length }, replacement ? 2 : 1);
  if (replacement) {
    const sums = runningSums(weights);
    const draw = (generator: TorchGenerator) => drawWithReplacement(generator, sums, length);
    return torchEpochs(options, { samples, length, numbers: DOUBLE_NUMBERS * length, draw });
  }
  const possible = weights.reduce((count, weight) => (weight > 0 ? count + 1 : count), 0);
  if (length > possible)
    throw configError('length', `at most ${possible}, the number of weights above 0`, length);
  const draw = (generator: TorchGenerator) => drawWithoutReplacement(generator, weights, length);
  return torchEpochs(options, { samples, length, numbers: DOUBLE_NUMBERS * samples, draw });
}

function assertWeights(weights: Float64Array): void {
  const wrong = weights.find((weight) => !(weight >= 0 && weight < Infinity));
  if (wrong !== undefined) throw configError('weights', 'finite numbers of at least 0', wrong);
  if (!weights.some((weight) => weight > 0)) throw configError('weights', 'a number above 0', 0);
}

/** The cumulative share of all weights, up to and including each. */
function runningSums(weights: Float64Array): Float64Array {
  const sums = new Float64Array(weights.length);
  let sum = 0;
  for (const [sample, weight] of weights.entries()) sums[sample] = sum += weight;
  for (let sample = 0; sample < sums.length; sample++) sums[sample] = (sums[sample] ?? 0) / sum;
  sums[sums.length - 1] = 1;
  return sums;
}

function drawWithReplacement(generator: TorchGenerator, sums: Float64Array, length: number): Uint32Array {
  const order = new Uint32Array(length);
  for (let i = 0; i < length; i++) {
    const drawn = generator.nextUniform();
    let [low, high] = [0, sums.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((sums[middle] ?? 0) < drawn) low = middle + 1;
      else high = middle;
    }
    order[i] = low;
  }
  return order;
}

/** Draws the samples with the largest keys: weights divided by exponentially distributed numbers. */
function drawWithoutReplacement(
  generator: TorchGenerator,
  weights: Float64Array,
  length: number,
): Uint32Array {
  const keys = weights.map((weight) => weight / -Math.log1p(-generator.nextUniform()));
  const order = new Uint32Array(keys.length).map((_, sample) => sample);
  return order.sort((a, b) => (keys[b] ?? 0) - (keys[a] ?? 0)).slice(0, length);
}
