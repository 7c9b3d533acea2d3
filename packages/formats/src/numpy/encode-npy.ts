import { configError } from '@tiered/core/internal';
import { arrayProblem, bytesOf, type Dtype, type NdArray } from '../arrays/nd-array.js';

const DESCRIPTIONS: Readonly<Record<Dtype, string>> = {
  bool: '|b1',
  int8: '|i1',
  uint8: '|u1',
  int16: '<i2',
  uint16: '<u2',
  int32: '<i4',
  uint32: '<u4',
  int64: '<i8',
  uint64: '<u8',
  float16: '<f2',
  float32: '<f4',
  float64: '<f8',
};

/** Elements begin at a multiple of it, so that they can be mapped into memory. */
const ALIGNMENT = 64;
/** Bytes before the text of the header. */
const START = 10;
/** NumPy reads no more axes. */
const MOST_AXES = 64;

/**
 * Makes a `.npy` file in memory, as `numpy.save` does: little-endian and in C order. Numbers are rounded to
 * `float16` if that is the dtype.
 * @throws TieredError `TIERED_CONFIG_INVALID` for elements that are not in the memory of their dtype, or are
 * not as many as the shape says.
 */
export function encodeNpy(array: NdArray): Uint8Array {
  const problem = arrayProblem(array);
  if (problem !== undefined) throw configError('array', 'elements in the memory of their dtype', problem);
  const { shape, dtype } = array;
  if (shape.length > MOST_AXES) throw configError('shape', `at most ${MOST_AXES} axes`, shape.length);
  const tuple = shape.length === 1 ? `${shape.join()},` : shape.join(', ');
  const dict = `{'descr': '${DESCRIPTIONS[dtype]}', 'fortran_order': False, 'shape': (${tuple}), }`;
  const padding = (ALIGNMENT - ((START + dict.length + 1) % ALIGNMENT)) % ALIGNMENT;
  const text = `${dict}${' '.repeat(padding)}\n`;
  const start = Buffer.alloc(START);
  start.write('\x93NUMPY\x01\x00', 'latin1');
  start.writeUInt16LE(text.length, START - 2);
  return new Uint8Array(Buffer.concat([start, Buffer.from(text, 'latin1'), bytesOf(array)]));
}
