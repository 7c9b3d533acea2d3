import { assertCounts, configError } from '@tiered/core/internal';
import type { FrequencyTable } from './access-tables.js';

/** Options of `accessAnalysis`. */
export interface AccessAnalysisOptions {
  /** E, at least 1. */
  readonly epochs: number;
  /** N, at least 1: processes that train together. */
  readonly workers: number;
  /** F, the samples of the dataset. */
  readonly samples: number;
  /** The part of the mean by which the reads of a sample have to exceed it, at least 0. Default: 0.1. */
  readonly delta?: number | undefined;
}

/** The result of `accessAnalysis`, for one worker. */
export interface AccessAnalysis {
  /** How often it reads a sample on average, E / N. */
  readonly mean: number;
  /** The least number of reads above (1 + delta) x mean. */
  readonly threshold: number;
  /** The part of all samples that it reads at least this often, from 0 to 1. */
  readonly probability: number;
  /** How many samples these are, F x probability. */
  readonly expected: number;
  /** How many samples it reads 0, 1, ..., E times. */
  readonly distribution: Float64Array;
}

/**
 * Computes how unevenly a worker reads the samples of a dataset (NoPFS, section 3.2): how many it reads more
 * often than the mean by a factor, and the distribution of reads. In each epoch one of N workers reads a
 * sample, so the reads of one worker follow a binomial distribution. This holds for samplers that read every
 * sample once per epoch, such as `globalBatchSampler`. `frequencyTable` counts the actual reads for a seed.
 *
 * Takes O(epochs) time and 8 bytes per epoch.
 * @throws TieredError `TIERED_CONFIG_INVALID` for invalid options.
 */
export function accessAnalysis(options: AccessAnalysisOptions): AccessAnalysis {
  const { epochs, workers, samples, delta = 0.1 } = options;
  assertCounts({ epochs, workers });
  assertCounts({ samples }, 0);
  if (!(delta >= 0 && delta < Infinity)) throw configError('delta', 'a number of at least 0', delta);
  const mean = epochs / workers;
  const threshold = leastAbove((1 + delta) * mean);
  const part = binomial(epochs, 1 / workers);
  const probability = part.subarray(threshold).reduce((sum, one) => sum + one, 0);
  const distribution = part.map((one) => one * samples);
  return { mean, threshold, probability, expected: samples * probability, distribution };
}

/** Counts how many samples of a table are read 0, 1, ... times, up to the largest number in it. */
export function accessDistribution(table: FrequencyTable): Uint32Array {
  let most = 0;
  for (const count of table) most = Math.max(most, count);
  const distribution = new Uint32Array(most + 1);
  for (const count of table) distribution[count] = (distribution[count] ?? 0) + 1;
  return distribution;
}

/**
 * The least whole number above this one. Numbers that are whole but for rounding count as whole, such as 1.1
 * x 250.
 */
function leastAbove(value: number): number {
  const nearest = Math.round(value);
  return Math.abs(value - nearest) <= 1e-9 * nearest ? nearest + 1 : Math.ceil(value);
}

/**
 * The probabilities of 0 to n successes: computed from the likeliest number on, so that nothing overflows.
 */
function binomial(n: number, p: number): Float64Array {
  const parts = new Float64Array(n + 1);
  const mode = Math.min(n, Math.floor((n + 1) * p));
  parts[mode] = 1;
  for (let k = mode; k < n; k++) parts[k + 1] = ((parts[k] ?? 0) * (n - k) * p) / ((k + 1) * (1 - p));
  for (let k = mode; k > 0; k--) parts[k - 1] = ((parts[k] ?? 0) * k * (1 - p)) / ((n - k + 1) * p);
  const sum = parts.reduce((all, one) => all + one, 0);
  return parts.map((one) => one / sum);
}
