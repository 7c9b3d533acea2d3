import { Random } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import type { SampleSet } from '@tiered/formats';

/** Options of `splitSamples`. */
export interface SplitOptions {
  /** Whole number from 0 to 2^53 - 1 that decides who gets which sample. Default: 0. */
  readonly seed?: number | undefined;
}

/**
 * Splits samples at random, for training and validation. Every sample is in one of the splits. The same
 * arguments give the same splits on every machine.
 * @param shares The part of each split, such as `{ train: 0.9, validation: 0.1 }`. Their sum is 1.
 * @returns The numbers of the samples by split, rising: for `LoaderPart.only`.
 * @throws TieredError `TIERED_CONFIG_INVALID` for shares that are not positive, or do not add up to 1.
 */
export function splitSamples<K extends string>(
  { samples }: Pick<SampleSet, 'samples'>,
  shares: Readonly<Record<K, number>>,
  { seed = 0 }: SplitOptions = {},
): Record<K, Uint32Array> {
  const splits = Object.entries<number>(shares) as [K, number][];
  for (const [name, share] of splits)
    if (!(share > 0)) throw configError(`shares.${name}`, 'a positive part', share);
  const sum = splits.reduce((total, [, share]) => total + share, 0);
  if (Math.abs(sum - 1) > 1e-9) throw configError('shares', 'parts whose sum is 1', sum);
  const order = new Random(seed).permutation(samples);
  let reached = 0;
  let begin = 0;
  const parts = splits.map(([name, share], i) => {
    reached += share;
    const end = i === splits.length - 1 ? samples : Math.round(reached * samples);
    const part = order.slice(begin, end).sort();
    begin = end;
    return [name, part] as const;
  });
  return Object.fromEntries(parts) as Record<K, Uint32Array>;
}
