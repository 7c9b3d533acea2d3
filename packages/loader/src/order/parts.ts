import { Random, type Hierarchy } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import type { SampleSet } from '@tiered/formats';

/** One dataset of a loader, or a part of one. */
export interface LoaderPart<S = unknown> {
  readonly samples: SampleSet<S>;
  /** The numbers of the samples to read, in ascending order, as `splitSamples` returns them. Default: all. */
  readonly only?: Uint32Array | undefined;
  /**
   * The share of this part in an epoch, relative to the other parts. Any positive number. Default: the number
   * of its samples, so that each sample is read once per epoch.
   */
  readonly weight?: number | undefined;
}

/** The samples that numbers stand for, by index. */
export interface Located {
  readonly parts: Uint32Array;
  /** Sample numbers in the sample sets of their parts. */
  readonly samples: Uint32Array;
  readonly records: Uint32Array;
}

/**
 * The parts of a loader as one list of samples, numbered one part after the other, in the order of the list.
 */
export class Parts<S = unknown> {
  readonly list: readonly LoaderPart<S>[];
  /** Samples of each part. */
  readonly sizes: readonly number[];
  /** The number of the first sample of each part, and the end. */
  readonly #firsts: readonly number[];

  /** @throws TieredError `TIERED_CONFIG_INVALID` */
  constructor(given: SampleSet<S> | LoaderPart<S> | readonly LoaderPart<S>[]) {
    this.list = Array.isArray(given) ? (given as readonly LoaderPart<S>[]) : [partOf(given as SampleSet<S>)];
    if (this.list.length === 0) throw configError('samples', 'at least one part', 'none');
    for (const [i, { samples, only, weight }] of this.list.entries()) {
      if (weight !== undefined && !(weight > 0 && weight < Infinity))
        throw configError(`samples[${i}].weight`, 'a positive number', weight);
      const wrong = only?.find((sample, at) => sample >= (only[at + 1] ?? samples.samples));
      if (wrong !== undefined)
        throw configError(`samples[${i}].only`, `rising numbers below ${samples.samples}`, wrong);
      if ((only?.length ?? samples.samples) === 0)
        throw configError(`samples[${i}]`, 'at least one sample', 'none');
    }
    this.sizes = this.list.map(({ samples, only }) => only?.length ?? samples.samples);
    const firsts = [0];
    for (const size of this.sizes) firsts.push((firsts.at(-1) ?? 0) + size);
    this.#firsts = firsts;
  }

  /** The hierarchies that parts are read from, each once. */
  get hierarchies(): readonly Hierarchy[] {
    return [...new Set(this.list.map(({ samples }) => samples.hierarchy))];
  }

  /** Samples of all parts. */
  get total(): number {
    return this.#firsts.at(-1) ?? 0;
  }

  /** The number of the first sample of a part. */
  firstOf(part: number): number {
    return this.#firsts[part] ?? 0;
  }

  /** The part that a number belongs to. O(parts). */
  partOf(number: number): number {
    let part = 0;
    while (number >= (this.#firsts[part + 1] ?? Infinity)) part += 1;
    return part;
  }

  /** Finds the samples that numbers stand for. */
  locate(numbers: Uint32Array): Located {
    const count = numbers.length;
    const parts = new Uint32Array(count);
    const samples = new Uint32Array(count);
    const records = new Uint32Array(count);
    for (let i = 0; i < count; i++) {
      const number = numbers[i] ?? 0;
      const part = this.partOf(number);
      const sample = this.sampleOf(number, part);
      parts[i] = part;
      samples[i] = sample;
      records[i] = this.list[part]?.samples.recordOf(sample) ?? 0;
    }
    return { parts, samples, records };
  }

  /** The sample, within its part, that a number stands for. */
  sampleOf(number: number, part: number): number {
    const index = number - this.firstOf(part);
    return this.list[part]?.only?.[index] ?? index;
  }
}

function partOf<S>(given: SampleSet<S> | LoaderPart<S>): LoaderPart<S> {
  return 'format' in given ? { samples: given } : given;
}

/** Options of `splitSamples`. */
export interface SplitOptions {
  /** Seed of the split, a whole number from 0 to 2^53 - 1. Default: 0. */
  readonly seed?: number | undefined;
}

/**
 * Splits samples at random, for training and validation. Every sample is in one of the splits. The same
 * arguments give the same splits on every machine.
 * @param shares The fraction of each split, such as `{ train: 0.9, validation: 0.1 }`. Their sum is 1.
 * @returns The numbers of the samples by split, in ascending order, for `LoaderPart.only`.
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
