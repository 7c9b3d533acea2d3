import { TieredError } from '@tiered/core';
import { elementsOf, type NdArray } from '../arrays/nd-array.js';
import { damaged } from '../contract/damage.js';
import type { IndexOptions, ObjectReader, RawRecord, RecordTable, SampleFormat } from '../contract/format.js';
import { ObjectWindow } from '../reading/object-window.js';
import { arrayBytes, headerAt, type NoHeader, type NpyHeader } from './header.js';

const ADVICE = 'Write or fetch the array again.';

/**
 * NumPy's `.npy` files. A sample is a row: the array at one place of the first axis. To index a file, its
 * header is read, and no more. An array without axes is one sample, and one without elements has none.
 *
 * The elements are a view of what was read where the processor can read them as they lie there, and a copy
 * else. A file has no checksums. One that is cut off has the rows that are whole.
 * @throws Index throws TieredError `TIERED_UNSUPPORTED` for arrays in Fortran order, and for those of
 * objects, texts, dates, complex numbers or structures.
 */
export function npy(): SampleFormat<NdArray> {
  return { name: 'npy', options: {}, index, decode: (record) => [decode(record)] };
}

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

/** The error for arrays that cannot be read here. @param what The array, as it begins a sentence. */
export function unsupported(
  key: string,
  what: string,
  { problem }: { readonly problem: string },
): TieredError {
  const advice = 'Write it by numpy.ascontiguousarray, with a dtype of integers, floats or bool.';
  return new TieredError('TIERED_UNSUPPORTED', `${what}: ${problem}. ${advice}`, { key });
}

async function index(object: ObjectReader, { onDamage, signal }: IndexOptions): Promise<RecordTable> {
  const { key, size } = object;
  const window = new ObjectWindow(object, signal);
  let start = await window.read(0, 1);
  let header: NpyHeader | NoHeader = headerAt(start);
  while ('kind' in header && header.kind === 'more' && header.bytes <= size) {
    const { bytes } = header;
    start = await window.read(0, bytes);
    if (start.byteLength < bytes) break;
    header = headerAt(start);
  }
  if ('kind' in header) {
    if (header.kind === 'unsupported') throw unsupported(key, key, header);
    const problem = header.kind === 'more' ? 'its header is cut off' : header.problem;
    onDamage(damaged({ key, offset: 0 }, problem, ADVICE));
    return { offsets: new Float64Array(), lengths: new Float64Array() };
  }
  const first = header.bytes;
  const { count, bytes } = rowsOf(header);
  const whole = count === 0 ? 0 : Math.min(count, Math.floor((size - first) / bytes));
  const end = first + count * bytes;
  if (end > size) {
    const problem = `it ends here, and ${count - whole} of ${count} rows are not whole`;
    onDamage(damaged({ key, offset: size }, problem, ADVICE));
  } else if (end < size) {
    onDamage(damaged({ key, offset: end }, `${size - end} bytes follow behind its array`, ADVICE));
  }
  return {
    offsets: Float64Array.from({ length: whole }, (_, i) => first + i * bytes),
    lengths: new Float64Array(whole).fill(bytes),
    header: new Uint8Array(start.subarray(0, first)),
  };
}

/** What headers say, which all rows of an array share. */
const known = new WeakMap<Uint8Array, NpyHeader>();

function decode({ key, offset, bytes, header: start = new Uint8Array() }: RawRecord): NdArray {
  const header = known.get(start) ?? headerAt(start);
  if ('kind' in header) throw damaged({ key, offset }, 'its header is missing', 'Index the source again.');
  known.set(start, header);
  const { bytes: length, shape } = rowsOf(header);
  if (bytes.byteLength !== length)
    throw damaged({ key, offset }, `a row of ${length} bytes has ${bytes.byteLength}`, ADVICE);
  return { data: elementsOf(header.dtype, bytes, header.order), shape, dtype: header.dtype };
}
