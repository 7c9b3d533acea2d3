import { isTieredError, parseBytes, TieredError, type ByteSize } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { constants } from 'node:buffer';
import type { NdArray } from '../arrays/nd-array.js';
import {
  damaged,
  type IndexOptions,
  type ObjectReader,
  type RawRecord,
  type RecordTable,
  type SampleFormat,
} from '../contract/format.js';
import { ObjectWindow, pieces } from '../reading/object-window.js';
import { headerAt, type NpyHeader } from './header.js';
import { unsupported } from './npy.js';
import { rowReader, rowsOf, type Rows } from './rows.js';
import { membersOf } from './zip.js';

/** Options of `npz`. */
export interface NpzOptions {
  /**
   * The names of the arrays whose rows are samples. Default: all. `['x_train', 'y_train']` reads a part of a
   * file that has a test set, too.
   */
  readonly arrays?: readonly string[] | undefined;
  /**
   * The most bytes that a file may have, and its arrays may have when they are decompressed. A decoded file
   * is that large in memory, twice for a moment. A larger file counts as damaged. Default: 1 GiB.
   */
  readonly maxBytes?: ByteSize | undefined;
}

/** A sample: the rows at one place of the first axis, by the names of the arrays. */
export type NpzSample = Readonly<Record<string, NdArray>>;

interface Applied {
  readonly arrays?: readonly string[];
  readonly maxBytes: number;
}

/** An array of a file, with its rows. */
interface Table {
  readonly name: string;
  readonly header: NpyHeader;
  readonly rows: Rows;
  readonly elements: Uint8Array;
}

const ADVICE = 'Write or fetch the file again.';

/**
 * NumPy's `.npz` files, the arrays of which have first axes of one length. A sample has the row of each. The
 * file is one record with all its samples: they cannot be read singly, and all of it is read to index it.
 *
 * Checksums are compared. A file that is damaged anywhere, in arrays that are read, has no samples.
 * @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work. Index and decoding throw
 * `TIERED_UNSUPPORTED` for arrays that `npy` does not read or that have no axes, for first axes of different
 * lengths, and for arrays that are asked for and not there.
 */
export function npz({ arrays, maxBytes = '1GiB' }: NpzOptions = {}): SampleFormat<NpzSample> {
  if (arrays !== undefined && (arrays.length === 0 || new Set(arrays).size < arrays.length))
    throw configError('arrays', 'at least one name, and none twice', arrays);
  const most = parseBytes(maxBytes, 'maxBytes');
  if (most > constants.MAX_LENGTH) throw configError('maxBytes', `at most ${constants.MAX_LENGTH}`, maxBytes);
  const applied: Applied = { maxBytes: most, ...(arrays && { arrays }) };
  return {
    name: 'npz',
    options: { ...applied },
    index: (object, options) => index(object, applied, options),
    decode: (record) => decode(record, applied),
  };
}

async function index(object: ObjectReader, applied: Applied, options: IndexOptions): Promise<RecordTable> {
  const { key, size } = object;
  const count = await rowsIn(object, applied, options);
  if (isTieredError(count)) options.onDamage(count);
  const samples = isTieredError(count) || count === undefined ? 0 : count;
  if (samples > 2 ** 32 - 1)
    throw new TieredError('TIERED_UNSUPPORTED', `${key} has ${samples} rows.`, { key });
  return {
    offsets: new Float64Array(samples > 0 ? 1 : 0),
    lengths: Float64Array.from(samples > 0 ? [size] : []),
    samples: Uint32Array.from(samples > 0 ? [samples] : []),
  };
}

/** The rows of a file, or its damage. Undefined if that was told already. */
async function rowsIn(
  object: ObjectReader,
  applied: Applied,
  options: IndexOptions,
): Promise<number | TieredError | undefined> {
  const at = { key: object.key, offset: 0 };
  if (object.size > applied.maxBytes) {
    const problem = `it has more than the ${applied.maxBytes} bytes that maxBytes allows`;
    return damaged(at, problem, 'Raise maxBytes if such files are expected.');
  }
  const all: Uint8Array[] = [];
  let read = 0;
  for await (const piece of pieces(new ObjectWindow(object, options.signal), options)) {
    all.push(piece);
    read += piece.byteLength;
  }
  if (read < object.size) return undefined;
  const tables = await tablesOf(Buffer.concat(all), at, applied);
  return isTieredError(tables) ? tables : (tables[0]?.rows.count ?? 0);
}

async function decode({ key, offset, bytes }: RawRecord, applied: Applied): Promise<NpzSample[]> {
  const tables = await tablesOf(bytes, { key, offset }, applied);
  if (isTieredError(tables)) throw tables;
  const all = tables.map(({ name, header, elements }) => ({ name, row: rowReader(header, elements) }));
  return Array.from({ length: tables[0]?.rows.count ?? 0 }, (_, i) =>
    Object.fromEntries(all.map(({ name, row }) => [name, row(i)])),
  );
}

/** The arrays that are asked for, with first axes of one length. Damage is returned. */
async function tablesOf(
  bytes: Uint8Array,
  at: { readonly key: string; readonly offset: number },
  { arrays, maxBytes }: Applied,
): Promise<Table[] | TieredError> {
  const { key } = at;
  const members = await membersOf(
    bytes,
    (name) => name.endsWith('.npy') && (arrays?.includes(name.slice(0, -4)) ?? true),
    maxBytes,
  );
  if (typeof members === 'string') return damaged(at, members, ADVICE);
  const missing = arrays?.find((name) => !members.has(`${name}.npy`));
  if (missing !== undefined)
    throw new TieredError('TIERED_UNSUPPORTED', `${key} has no array ${missing}. Ask for others.`, { key });
  const tables: Table[] = [];
  for (const [member, content] of members) {
    const name = member.slice(0, -'.npy'.length);
    const header = headerAt(content);
    if ('kind' in header) {
      if (header.kind === 'unsupported') throw unsupported(key, `${key}, array ${name}`, header);
      const problem = header.kind === 'more' ? 'its header is cut off' : header.problem;
      return damaged(at, `array ${name}: ${problem}`, ADVICE);
    }
    if (header.shape.length === 0) throw noTable(key, `array ${name} has no axes`);
    const rows = rowsOf(header);
    const elements = content.subarray(header.bytes);
    if (elements.byteLength !== rows.count * rows.bytes)
      return damaged(at, `array ${name} is not as long as its header says`, ADVICE);
    tables.push({ name, header, rows, elements });
  }
  const lengths = new Set(tables.map(({ rows }) => rows.count));
  if (lengths.size <= 1) return tables;
  const all = tables.map(({ name, rows }) => `${name} ${rows.count}`).join(', ');
  throw noTable(key, `its arrays have different numbers of rows (${all})`);
}

function noTable(key: string, problem: string): TieredError {
  const message = `${key}: ${problem}. Name arrays of as many rows in the option arrays.`;
  return new TieredError('TIERED_UNSUPPORTED', message, { key });
}
