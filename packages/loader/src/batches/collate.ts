import { TieredError } from '@tiered/core';

/** A typed array of numbers. */
export type NumberArray =
  | Uint8Array
  | Uint8ClampedArray
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array;

/** Samples of the same length, one behind the other in one array. */
export interface Stacked<A extends NumberArray = NumberArray> {
  readonly data: A;
  /** Samples, and numbers of each. */
  readonly shape: readonly [samples: number, length: number];
}

/**
 * Puts samples of the same length one behind the other, in memory of their own. For `collate`.
 * @throws TieredError `TIERED_DATA_CORRUPT` for samples of different lengths or kinds: pad them in a
 * transform, or crop them.
 */
export function stack<A extends NumberArray>(samples: readonly A[]): Stacked<A> {
  const [first] = samples;
  if (first === undefined) return { data: new Uint8Array() as A, shape: [0, 0] };
  const { length } = first;
  const data = emptyLike(first, samples.length * length);
  for (const [i, sample] of samples.entries()) {
    if (sample.length !== length || sample.constructor !== first.constructor) throw differs(first, sample, i);
    data.set(sample, i * length);
  }
  return { data, shape: [samples.length, length] };
}

function emptyLike<A extends NumberArray>(array: A, length: number): A {
  // Libraries of images give Buffers, whose constructor Node warns of.
  if (Buffer.isBuffer(array)) return Buffer.alloc(length) as NumberArray as A;
  return new (array.constructor as new (length: number) => A)(length);
}

function differs(first: NumberArray, sample: NumberArray, i: number): TieredError {
  const of = (array: NumberArray) => `${array.constructor.name} of ${array.length}`;
  return new TieredError(
    'TIERED_DATA_CORRUPT',
    `Samples 0 and ${i} of the batch cannot be stacked: ${of(first)}, and ${of(sample)}. Pad or crop them in the transform.`,
  );
}
