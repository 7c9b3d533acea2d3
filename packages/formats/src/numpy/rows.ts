import { elementsOf, type NdArray, type TypedArray } from '../arrays/nd-array.js';
import { arrayBytes, type NpyHeader } from './header.js';

/** The bytes of a row, as often as there are rows. */
export interface Rows {
  readonly count: number;
  readonly bytes: number;
  readonly shape: readonly number[];
}

/** The rows that a header announces. None if there are no elements. */
export function rowsOf(header: NpyHeader): Rows {
  const [rows = 1, ...shape] = header.shape;
  if (header.shape.includes(0)) return { count: 0, bytes: 0, shape };
  return { count: rows, bytes: arrayBytes(header, shape), shape };
}

/**
 * Reads the rows of an array by their numbers.
 * @param bytes All elements, as the header says.
 */
export function rowReader(header: NpyHeader, bytes: Uint8Array): (row: number) => NdArray {
  const { dtype, order, isFortran } = header;
  const { count, bytes: length, shape } = rowsOf(header);
  if (!isFortran) {
    return (row) => ({
      data: elementsOf(dtype, bytes.subarray(row * length, (row + 1) * length), order),
      shape,
      dtype,
    });
  }
  const all = elementsOf(dtype, bytes, order);
  const places = placesInFortran(shape);
  return (row) => {
    const Kept = all.constructor as new (length: number) => TypedArray;
    const data = new Kept(places.length) as unknown as (number | bigint)[];
    for (const [i, place] of places.entries()) data[i] = all[row + count * place] ?? 0;
    return { data: data as unknown as TypedArray, shape, dtype };
  };
}

/** Where the elements of an array lie in Fortran order, by their places in C order. */
function placesInFortran(shape: readonly number[]): Float64Array {
  const size = shape.reduce((product, length) => product * length, 1);
  const places = new Float64Array(size);
  // The first axis changes first in Fortran order, and last in C order.
  let [stride, block] = [1, size];
  for (const length of shape) {
    block /= length;
    for (let i = 0; i < size; i++) places[i] = (places[i] ?? 0) + (Math.floor(i / block) % length) * stride;
    stride *= length;
  }
  return places;
}
