import { parseBytes, TieredError, type ByteSize } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import {
  damaged,
  TableBuilder,
  type IndexOptions,
  type ObjectReader,
  type RawRecord,
  type RecordTable,
  type SampleFormat,
} from '../contract/format.js';
import type { Decimals } from './elements.js';
import {
  EncryptedError,
  isEncrypted,
  metadataLength,
  parseFooter,
  TAIL,
  type Footer,
  type RowGroup,
} from './footer.js';
import { VALUE_BYTES } from './pages.js';
import { readRows, type RowOptions } from './rows.js';

/** Options of `parquet`. */
export interface ParquetOptions {
  /**
   * The names of the columns that samples have. Of a row group, what lies between the first and the last of
   * them is read. Default: all columns.
   */
  readonly columns?: readonly string[] | undefined;
  /**
   * The most bytes that a row group may take when it is decoded: its pages decompressed, and 32 bytes a
   * value. A footer may have a 64th of that. A larger row group counts as damaged, and is found when the file
   * is indexed. Default: 4 GiB, which a row group of pyarrow's default (1,048,576 rows) has with some 100
   * columns of numbers; it keeps some kilobytes from becoming all memory.
   */
  readonly maxBytes?: ByteSize | undefined;
  /**
   * What decimals become: the nearest `number`, or exact `text` such as `3.7500`. Default: a number in
   * columns of up to 15 digits, which numbers keep, and text in columns of more, so that no digit is lost.
   */
  readonly decimals?: Decimals | undefined;
}

/** A row by the names of its columns. */
export type ParquetRow = Readonly<Record<string, unknown>>;

/** The options as they apply. */
interface Applied extends RowOptions {
  readonly columns?: readonly string[];
}

/** Bytes at the end of an object that are read at once. Most footers are shorter. */
const FIRST_READ = 64 * 1024;
/** Metadata are larger in memory than in a footer. */
const FOOTER_SHARE = 64;
const ADVICE = 'Write or fetch the file again.';

/**
 * Parquet files. A record is a row group, and its samples are rows: objects by the names of columns. To index
 * a file, only its footer is read, which stays in memory as the header of its records.
 *
 * Values are as hyparquet gives them: integers of 64 bits are `bigint`, times and days are `Date`, which is
 * the millisecond that a time lies in, lists are arrays, structs and maps are objects. Decimals are numbers
 * or text (`decimals`). A missing value is `null`; inside of lists and structs it may be `undefined`. Binary
 * columns are `Uint8Array`, unless the file says that they are text or JSON; UUIDs, intervals, BSON,
 * variants, geometries and decimals of variable length stay bytes. Samples have no views of the record.
 *
 * Checksums of pages are checked where a file has them. A wrong row group ends the table, and a wrong footer
 * leaves it empty.
 * @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work. Index throws
 * `TIERED_UNSUPPORTED` for files that are encrypted, or have columns that are, among those asked for.
 */
export function parquet(options: ParquetOptions = {}): SampleFormat<ParquetRow> {
  const applied = checked(options);
  // The records of an object have one header, which is parsed once in each thread.
  const footers = new WeakMap<Uint8Array, Footer>();
  return {
    name: 'parquet',
    options: { ...applied },
    index: (object, indexOptions) => index(object, applied, indexOptions),
    decode: (record) => decode(record, applied, footers),
  };
}

function checked({ columns, maxBytes = '4GiB', decimals }: ParquetOptions): Applied {
  if (columns !== undefined && (columns.length === 0 || new Set(columns).size < columns.length)) {
    throw configError('columns', 'at least one name, and none twice', columns);
  }
  if (decimals !== undefined && !['number', 'text'].includes(decimals))
    throw configError('decimals', "'number' or 'text'", decimals);
  return {
    ...(columns !== undefined && { columns }),
    ...(decimals !== undefined && { decimals }),
    maxBytes: parseBytes(maxBytes, 'maxBytes'),
  };
}

async function index(object: ObjectReader, applied: Applied, options: IndexOptions): Promise<RecordTable> {
  const table = new TableBuilder();
  const samples: number[] = [];
  const build = (header?: Uint8Array) => ({ ...table.build(header), samples: Uint32Array.from(samples) });
  const header = await readFooter(object, applied, options);
  if (!(header instanceof Uint8Array)) {
    options.onDamage(header);
    return build();
  }
  const start = object.size - header.byteLength;
  try {
    const footer = parseFooter(header, applied.columns);
    for (let i = 0, end = 0; i < footer.rowGroups; i++) {
      const group = footer.rowGroup(i);
      assertPlace(group, end, start, applied);
      if (group.rows === 0) continue;
      end = group.offset + group.length;
      table.add(group.offset, group.length);
      samples.push(group.rows);
    }
  } catch (error) {
    if (error instanceof EncryptedError) throw encrypted(object.key, error.message);
    options.onDamage(wrong({ key: object.key, offset: start }, 'the footer cannot be read', error));
  }
  return build(header);
}

/** The footer, with its length and the magic number behind it; or what is wrong with it. */
async function readFooter(
  object: ObjectReader,
  { maxBytes }: Applied,
  { signal }: IndexOptions,
): Promise<Uint8Array | TieredError> {
  const { key, size } = object;
  signal?.throwIfAborted();
  const first = Math.min(FIRST_READ, size);
  const tail = await object.read(size - first, first);
  const end = { key, offset: Math.max(0, size - TAIL) };
  if (isEncrypted(tail)) throw encrypted(key, 'its footer is encrypted');
  const length = tail.byteLength === first ? metadataLength(tail) : undefined;
  if (length === undefined) return damaged(end, 'it does not end as a Parquet file', ADVICE);
  const all = length + TAIL;
  if (all > size) return damaged(end, `it claims a footer of ${length} bytes, and has ${size}`, ADVICE);
  if (all > maxBytes / FOOTER_SHARE) {
    const problem = `it claims a footer of ${length} bytes, more than maxBytes allows`;
    return damaged(end, problem, 'Raise maxBytes if such files are expected.');
  }
  if (all <= first) return tail.slice(first - all);
  signal?.throwIfAborted();
  const footer = await object.read(size - all, all);
  if (footer.byteLength === all) return footer.slice();
  return damaged(end, 'it has become shorter', 'Index the source again.');
}

/** Row groups follow one another, and lie before the footer. */
function assertPlace(group: RowGroup, start: number, end: number, applied: Applied): void {
  const { offset, length, rows } = group;
  assertSize(group, applied);
  if (rows > 0 && !(offset >= start && length > 0 && offset + length <= end))
    throw new Error(`invalid row group at byte ${offset}, of ${length} bytes`);
}

/** What `decode` counts, by what the file says of itself. */
function assertSize({ rows, chunks }: RowGroup, { maxBytes }: Applied): void {
  const bytes = chunks.reduce(
    (sum, { values, decompressed }) => sum + decompressed + Math.max(values, rows) * VALUE_BYTES,
    0,
  );
  if (bytes <= maxBytes) return;
  const problem = `a row group of ${rows} rows takes ${bytes} bytes, more than the ${maxBytes} that maxBytes allows`;
  throw new Error(`${problem}; raise maxBytes, ask for fewer columns, or write smaller row groups`);
}

function decode(
  { key, offset, bytes, header }: RawRecord,
  applied: Applied,
  footers: WeakMap<Uint8Array, Footer>,
): readonly ParquetRow[] {
  const at = { key, offset };
  if (header === undefined) throw damaged(at, 'its footer is missing', 'Index the source again.');
  try {
    const footer = footers.get(header) ?? parseFooter(header, applied.columns);
    footers.set(header, footer);
    const group = groupAt(footer, offset, bytes.byteLength);
    assertSize(group, applied);
    return readRows(bytes, footer, group, applied);
  } catch (error) {
    throw wrong(at, 'this row group cannot be read', error);
  }
}

function groupAt(footer: Footer, offset: number, length: number): RowGroup {
  for (let i = 0; i < footer.rowGroups; i++) {
    const group = footer.rowGroup(i);
    if (group.rows > 0 && group.offset === offset && group.length === length) return group;
  }
  throw new Error('the footer does not have it');
}

function encrypted(key: string, problem: string): TieredError {
  const advice = 'Write the file without encryption, or leave such columns out by the option columns.';
  return new TieredError('TIERED_UNSUPPORTED', `${key}: ${problem}. ${advice}`, { key });
}

function wrong(at: { key: string; offset: number }, problem: string, error: unknown): TieredError {
  const message = error instanceof Error ? error.message : String(error);
  return damaged(at, `${problem}: ${message}`, ADVICE, error);
}
