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

/** Samples of the same length, one after the other in one array. */
export interface Stacked<A extends NumberArray = NumberArray> {
  readonly data: A;
  /** The number of samples, and of numbers in each. */
  readonly shape: readonly [samples: number, length: number];
}

/**
 * Stacks samples of the same length one after the other, in new memory. For `collate`.
 * @throws TieredError `TIERED_DATA_CORRUPT` for samples of different lengths or kinds: pad them in a
 * transform, or crop them.
 */
export function stack<A extends NumberArray>(samples: readonly A[]): Stacked<A> {
  return stacked(samples, '');
}

/** A sample for `stackEach`: a record or tuple of arrays of numbers, such as `{ x, y }` or `[x, y]`. */
export type Stackable = readonly NumberArray[] | { readonly [name: string]: NumberArray };

/** The same record or tuple, with its arrays stacked. */
export type StackedEach<R extends Stackable> = {
  readonly [K in keyof R]: R[K] extends NumberArray ? Stacked<R[K]> : never;
};

/**
 * Stacks each array of records or tuples separately, such as `x` and `y` of `{ x, y }`. A label is an array
 * of one number. For `collate`.
 * @throws TieredError like `stack`, and for records with other names than the first.
 */
export function stackEach<R extends Stackable>(samples: readonly R[]): StackedEach<R> {
  const [first = {}] = samples;
  const names = Object.keys(first);
  for (const [i, sample] of samples.entries()) {
    if (typeof (sample as unknown) !== 'object' || Object.keys(sample).join() !== names.join())
      throw differs('', i, `${nameOf(first)}, and ${nameOf(sample)}`);
  }
  const arraysOf = (name: string) =>
    samples.map((sample) => (sample as { readonly [name: string]: NumberArray })[name] as NumberArray);
  const made = names.map((name) => [name, stacked(arraysOf(name), `.${name}`)] as const);
  const all: unknown = Array.isArray(first) ? made.map(([, array]) => array) : Object.fromEntries(made);
  return all as StackedEach<R>;
}

/** @param place The place of these arrays in the samples. */
function stacked<A extends NumberArray>(samples: readonly A[], place: string): Stacked<A> {
  const [first] = samples;
  if (first === undefined) return { data: new Uint8Array() as NumberArray as A, shape: [0, 0] };
  if (!isArray(first)) throw differs(place, 0, `${nameOf(first)}, of which no array can be made`);
  const { length } = first;
  const data = emptyLike(first, samples.length * length);
  for (const [i, sample] of samples.entries()) {
    const isAlike = isArray(sample) && sample.length === length && sample.constructor === first.constructor;
    if (!isAlike) throw differs(place, i, `${nameOf(first)}, and ${nameOf(sample)}`);
    data.set(sample, i * length);
  }
  return { data, shape: [samples.length, length] };
}

function isArray(sample: unknown): sample is NumberArray {
  return ArrayBuffer.isView(sample) && !(sample instanceof DataView);
}

function emptyLike<A extends NumberArray>(array: A, length: number): A {
  // Image libraries return Buffers, and Node warns about their constructor.
  if (Buffer.isBuffer(array)) return Buffer.alloc(length) as NumberArray as A;
  return new (array.constructor as new (length: number) => A)(length);
}

function nameOf(sample: unknown): string {
  if (isArray(sample)) return `${sample.constructor.name} of ${sample.length}`;
  if (Array.isArray(sample)) return `a list of ${sample.length}`;
  if (typeof sample === 'object' && sample !== null) return `a record of ${Object.keys(sample).join(', ')}`;
  return typeof sample;
}

function differs(place: string, i: number, kinds: string): TieredError {
  const what = place === '' ? 'they are' : `${place.slice(1)} is`;
  return new TieredError(
    'TIERED_DATA_CORRUPT',
    `Samples 0 and ${i} of the batch cannot be stacked: ${what} ${kinds}. Pad or crop them in the transform.`,
  );
}
