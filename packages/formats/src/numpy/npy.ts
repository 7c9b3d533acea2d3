import { parseBytes, TieredError, type ByteSize } from '@tiered/core';
import type { NdArray } from '../arrays/nd-array.js';
import {
  damaged,
  type IndexOptions,
  type ObjectReader,
  type RawRecord,
  type RecordTable,
  type SampleFormat,
} from '../contract/format.js';
import { ObjectWindow } from '../reading/object-window.js';
import { headerAt, type NoHeader, type NpyHeader } from './header.js';
import { rowReader, rowsOf } from './rows.js';

const ADVICE = 'Write or fetch the array again.';
/** Samples of a record are counted by 32 bits. */
const MOST_ROWS = 2 ** 32 - 1;

/** Options of `npy`. */
export interface NpyOptions {
  /**
   * The most bytes of an array in Fortran order, which is read as a whole: it is that large in memory, twice
   * for a moment. A larger array counts as damaged. Default: 1 GiB.
   */
  readonly maxBytes?: ByteSize | undefined;
}

/**
 * NumPy's `.npy` files. A sample is a row: the array at one place of the first axis. To index a file, its
 * header is read, and no more. An array without axes is one sample, and one without elements has none.
 *
 * The elements are a view of what was read where the processor can read them as they lie there, and a copy
 * else. In Fortran order rows are not in one piece: the array is one record, and its rows are copies in C
 * order. A file has no checksums. One that is cut off has the rows that are whole.
 * @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work. Index throws
 * `TIERED_UNSUPPORTED` for arrays of objects, texts, dates, complex numbers or structures.
 */
export function npy({ maxBytes = '1GiB' }: NpyOptions = {}): SampleFormat<NdArray> {
  const most = parseBytes(maxBytes, 'maxBytes');
  return {
    name: 'npy',
    options: { maxBytes: most },
    index: (object, options) => index(object, most, options),
    decode,
  };
}

/** The error for arrays that cannot be read here. @param what The array, as it begins a sentence. */
export function unsupported(
  key: string,
  what: string,
  { problem }: { readonly problem: string },
): TieredError {
  const advice = 'Write it with a dtype of integers, floats or bool.';
  return new TieredError('TIERED_UNSUPPORTED', `${what}: ${problem}. ${advice}`, { key });
}

async function index(
  object: ObjectReader,
  maxBytes: number,
  { onDamage, signal }: IndexOptions,
): Promise<RecordTable> {
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
    return NONE;
  }
  const first = header.bytes;
  const { count, bytes } = rowsOf(header);
  const end = first + count * bytes;
  // Bytes that an array in Fortran order lacks are missing from every row.
  const there = count === 0 ? 0 : Math.min(count, Math.floor((size - first) / bytes));
  const whole = header.isFortran && end > size ? 0 : there;
  if (end > size) {
    const problem = `it ends here, and ${count - whole} of ${count} rows are not whole`;
    onDamage(damaged({ key, offset: size }, problem, ADVICE));
  } else if (end < size) {
    onDamage(damaged({ key, offset: end }, `${size - end} bytes follow behind its array`, ADVICE));
  }
  const shared = new Uint8Array(start.subarray(0, first));
  if (header.isFortran && whole > 0) {
    const problem = asOne(count, end - first, maxBytes);
    if (problem !== undefined)
      onDamage(damaged({ key, offset: 0 }, problem, 'Raise maxBytes, or write smaller ones.'));
    return problem === undefined ? oneRecord(first, end - first, count, shared) : NONE;
  }
  return {
    offsets: Float64Array.from({ length: whole }, (_, i) => first + i * bytes),
    lengths: new Float64Array(whole).fill(bytes),
    header: shared,
  };
}

const NONE: RecordTable = { offsets: new Float64Array(), lengths: new Float64Array() };

/** Why an array cannot be one record, if it cannot. */
function asOne(rows: number, bytes: number, maxBytes: number): string | undefined {
  if (rows > MOST_ROWS) return `it has ${rows} rows in Fortran order, more than ${MOST_ROWS}`;
  if (bytes <= maxBytes) return undefined;
  return `it has ${bytes} bytes in Fortran order, more than the ${maxBytes} that maxBytes allows`;
}

function oneRecord(offset: number, bytes: number, rows: number, header: Uint8Array): RecordTable {
  return {
    offsets: Float64Array.of(offset),
    lengths: Float64Array.of(bytes),
    samples: Uint32Array.of(rows),
    header,
  };
}

/** What headers say, which all rows of an array share. */
const known = new WeakMap<Uint8Array, NpyHeader>();

function decode({ key, offset, bytes, header: start = new Uint8Array() }: RawRecord): NdArray[] {
  const header = known.get(start) ?? headerAt(start);
  if ('kind' in header) throw damaged({ key, offset }, 'its header is missing', 'Index the source again.');
  known.set(start, header);
  const { bytes: length, count } = rowsOf(header);
  const rows = header.isFortran ? count : 1;
  if (bytes.byteLength !== rows * length) {
    const what = header.isFortran ? 'an array' : 'a row';
    const problem = `${what} of ${rows * length} bytes has ${bytes.byteLength}`;
    throw damaged({ key, offset }, problem, ADVICE);
  }
  const read = rowReader(header, bytes);
  return Array.from({ length: rows }, (_, i) => read(i));
}
