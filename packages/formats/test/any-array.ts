import type { Dtype, NdArray, TypedArray } from '@tiered/formats/mds';
import fc from 'fast-check';

/** Arrays of bytes that any dtype can have, which for floats of 16 bits means few values. */
export interface AnyArray {
  readonly dtypes: readonly Dtype[];
  /** The shape, if it is not any. */
  readonly shape?: readonly number[];
  /** The least of any axis, and the number of axes. Default: 0. */
  readonly minLength?: number;
  readonly minAxes?: number;
}

const HALVES = [0, -0, 1.5, -2, 65504, Infinity, -Infinity, NaN, 2 ** -24];

/** An array of one of these dtypes, and of any values. */
export function anyArray({ dtypes, shape, minLength = 0, minAxes = 0 }: AnyArray): fc.Arbitrary<NdArray> {
  const anyShape =
    shape === undefined
      ? fc.array(fc.integer({ min: minLength, max: 4 }), { minLength: minAxes, maxLength: 3 })
      : fc.constant(shape);
  return fc.tuple(anyShape, fc.constantFrom(...dtypes)).chain(([axes, dtype]) => {
    const length = axes.reduce((product, one) => product * one, 1);
    return elements(dtype, length).map((data) => ({ data, shape: axes, dtype }));
  });
}

function elements(dtype: Dtype, length: number): fc.Arbitrary<TypedArray> {
  const exactly = { minLength: length, maxLength: length };
  if (dtype === 'float16')
    return fc.array(fc.constantFrom(...HALVES), exactly).map((values) => Float32Array.from(values));
  if (dtype === 'bool') return fc.uint8Array({ ...exactly, max: 1 });
  const kept = {
    int8: fc.int8Array(exactly),
    uint8: fc.uint8Array(exactly),
    int16: fc.int16Array(exactly),
    uint16: fc.uint16Array(exactly),
    int32: fc.int32Array(exactly),
    uint32: fc.uint32Array(exactly),
    int64: fc.bigInt64Array(exactly),
    uint64: fc.bigUint64Array(exactly),
    float32: fc.float32Array(exactly),
    float64: fc.float64Array(exactly),
  };
  return kept[dtype];
}
