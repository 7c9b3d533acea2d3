import {
  arrayProblem,
  bytesOf,
  elementsOf,
  itemBytes,
  type Dtype,
  type NdArray,
} from '../arrays/nd-array.js';
import type { ValueCodec } from './value-codec.js';

/** The numbers by which values name their dtype. */
const DTYPES: ReadonlyMap<number, Dtype> = new Map([
  [8, 'uint8'],
  [9, 'int8'],
  [16, 'uint16'],
  [17, 'int16'],
  [18, 'float16'],
  [32, 'uint32'],
  [33, 'int32'],
  [34, 'float32'],
  [64, 'uint64'],
  [65, 'int64'],
  [66, 'float64'],
]);
const NUMBERS = new Map(Array.from(DTYPES, ([number, dtype]) => [dtype, number]));

/** How lengths of axes are stored, by the two lowest bits before them. */
const LENGTHS = ['uint8', 'uint16', 'uint32', 'uint64'] as const;

const ENCODING = /^ndarray(?::([a-z0-9]*)(?::(\d{1,15}(?:,\d{1,15})*))?)?$/;

/** What the encoding of a column fixes for all its values. */
interface Fixed {
  readonly dtype: Dtype | undefined;
  readonly shape: readonly number[] | undefined;
}

/** How values of `ndarray`, `ndarray:DTYPE` or `ndarray:DTYPE:SHAPE` are stored. */
export function ndArrays(encoding: string): ValueCodec | undefined {
  const match = ENCODING.exec(encoding);
  if (match === null) return undefined;
  const [, name = '', axes] = match;
  const dtype = [...DTYPES.values()].find((known) => known === name);
  if (name !== '' && dtype === undefined) return undefined;
  const shape = axes?.split(',').map(Number);
  const size = dtype && shape && itemBytes(dtype) * sizeOf(shape);
  const fixed = { dtype, shape };
  return { size, decode: (bytes) => decode(bytes, fixed), encode: (value) => encode(value, fixed) };
}

function decode(bytes: Uint8Array, fixed: Fixed): NdArray {
  let at = 0;
  const dtype = fixed.dtype ?? DTYPES.get(byteAt(bytes, at++));
  if (dtype === undefined) throw new Error('its dtype is not known');
  let shape = fixed.shape;
  if (shape === undefined) {
    const axes = byteAt(bytes, at++);
    const lengths = LENGTHS[axes % 4] ?? 'uint8';
    const end = at + (axes >> 2) * itemBytes(lengths);
    if (end > bytes.byteLength) throw new Error('its shape is cut off');
    shape = Array.from(elementsOf(lengths, bytes.subarray(at, end)), Number);
    at = end;
  }
  const values = bytes.subarray(at);
  if (values.byteLength !== sizeOf(shape) * itemBytes(dtype)) {
    throw new Error(`${values.byteLength} bytes are not ${dtype} of shape ${shape.join(', ')}`);
  }
  return { data: elementsOf(dtype, values), shape, dtype };
}

function encode(value: unknown, fixed: Fixed): Uint8Array {
  const array = value as NdArray;
  const { dtype, shape } = array;
  const problem = arrayProblem(array);
  if (problem !== undefined) throw new Error(`it has ${problem}`);
  const number = NUMBERS.get(dtype);
  if (number === undefined || (fixed.dtype !== undefined && fixed.dtype !== dtype))
    throw new Error(`its dtype is ${dtype}`);
  // The library refuses them.
  if (shape.length === 0 || shape.length > 63 || sizeOf(shape) === 0)
    throw new Error('it has no elements, no axes, or more than 63');
  if (fixed.shape !== undefined && fixed.shape.join() !== shape.join())
    throw new Error(`its shape is ${shape.join(', ')}`);
  const head: Uint8Array[] = fixed.dtype === undefined ? [Uint8Array.of(number)] : [];
  if (fixed.shape === undefined) head.push(...shapeBytes(shape));
  return Buffer.concat([...head, bytesOf(array)]);
}

function shapeBytes(shape: readonly number[]): Uint8Array[] {
  const longest = Math.max(...shape);
  const kind = longest < 2 ** 8 ? 0 : longest < 2 ** 16 ? 1 : longest < 2 ** 32 ? 2 : 3;
  const bytes = Buffer.alloc(shape.length * 2 ** kind);
  for (const [i, length] of shape.entries()) {
    if (kind === 3) bytes.writeBigUInt64LE(BigInt(length), 8 * i);
    else bytes.writeUIntLE(length, i * 2 ** kind, 2 ** kind);
  }
  return [Uint8Array.of((shape.length << 2) | kind), bytes];
}

function byteAt(bytes: Uint8Array, at: number): number {
  const byte = bytes[at];
  if (byte === undefined) throw new Error('its start is cut off');
  return byte;
}

function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, length) => product * length, 1);
}
