import { TieredError } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import {
  damaged,
  type IndexOptions,
  type ObjectReader,
  type RawRecord,
  type RecordTable,
  type SampleFormat,
} from '../contract/format.js';
import { ObjectWindow } from '../reading/object-window.js';
import { maybeCompressed, type ShardOptions } from '../reading/shards.js';
import { columnsIn, columnsJson, fieldsIn, type Column } from './columns.js';
import { isShardStart, placesIn, START, tableEnd } from './shard-table.js';
import { directoryOf, readSourceIndex, type IndexedShard, type SourceIndex } from './source-index.js';
import { hashProblem, wholeIn, wholeTable, type WholeShard } from './whole-shard.js';

/** How shards may be compressed. */
const CODECS = ['gzip', 'zstd', 'brotli', 'snappy'] as const;

/** Options of `mds`. */
export interface MdsOptions extends ShardOptions<(typeof CODECS)[number]> {
  /** The columns that are decoded. Default: all. */
  readonly columns?: readonly string[] | undefined;
}

/** A sample: what the columns have, by their names. `mds` says which values that are. */
export type MdsSample = Readonly<Record<string, unknown>>;

const ADVICE = 'Write or fetch the shard again.';

/**
 * MDS, the shards of MosaicML Streaming. `openSamples` reads each `index.json`, which says what shards
 * there are: others beside it are left out, and one that is missing or has another size is damage. Then
 * a shard takes one request, and a compressed one none. Without `index.json`, one range is read, or two
 * if a shard has many samples; all of it if it is compressed.
 *
 * Values are as JavaScript has them: integers of 64 bits (`int`, `int64`, `uint64`) and `str_int` are
 * bigints, arrays are `NdArray`, `str_decimal` is text. `bytes`, `jpeg` and `png` are the bytes, as views of
 * what was read, and lists of them are arrays; `pil` is a `PilImage`.
 *
 * Hashes that `index.json` has of compressed shards are compared when these are decoded; those of others are
 * not, because their samples are read singly. Samples that lie where none can be are damaged, and the others
 * are found.
 * @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work. Index and decoding throw
 * `TIERED_UNSUPPORTED` for columns that cannot be decoded (`pkl`: `columns` leaves them out), for columns
 * that are asked for and not there, and for bzip2.
 */
export function mds(options: MdsOptions = {}): SampleFormat<MdsSample> {
  const format = mdsOf(options, { shards: new Map(), directories: new Set() });
  return { ...format, prepare: async (source) => mdsOf(options, await readSourceIndex(source)) };
}

/** The format of a source whose index is known. Records of any index can be decoded by that of any other. */
function mdsOf(
  { columns, ...options }: MdsOptions,
  { shards: indexed, directories }: SourceIndex,
): SampleFormat<MdsSample> {
  if (columns !== undefined && (columns.length === 0 || new Set(columns).size < columns.length))
    throw configError('columns', 'at least one name, and none twice', columns);
  const shards = maybeCompressed<MdsSample, (typeof CODECS)[number]>(
    {
      startBytes: START,
      isPlain: isShardStart,
      index: (window, indexOptions) => index(window, columns, indexOptions),
      decode: (record) => decode(record, columns),
    },
    CODECS,
    options,
  );
  return {
    name: 'mds',
    options: { ...shards.options, ...(columns && { columns }) },
    isSample: (key) => indexed.has(key) || !(key.endsWith('.json') || directories.has(directoryOf(key))),
    index: (object, indexOptions) => {
      const shard = indexed.get(object.key);
      return shard === undefined
        ? shards.index(object, indexOptions)
        : indexKnown(object, shard, columns, indexOptions);
    },
    decode: (record) => {
      const whole = wholeIn(record.header);
      return whole === undefined ? shards.decode(record) : decodeWhole(record, whole, shards.decode);
    },
  };
}

/** Of a shard that `index.json` tells of, only the places of its samples are read. */
async function indexKnown(
  object: ObjectReader,
  shard: IndexedShard,
  wanted: readonly string[] | undefined,
  options: IndexOptions,
): Promise<RecordTable> {
  const { key, size } = object;
  const tell = (offset: number, problem: string) =>
    options.onDamage(damaged({ key, offset }, problem, ADVICE));
  decodable(key, shard.columns, wanted);
  if (size !== shard.bytes) {
    tell(Math.min(size, shard.bytes), `it has ${size} bytes, and index.json says ${shard.bytes}`);
    return NONE;
  }
  if (shard.compression !== undefined) {
    if (BZIP2.test(shard.compression)) throw bzip2(key);
    return wholeTable(shard);
  }
  const window = new ObjectWindow(object, options.signal);
  const table = START + 4 * shard.samples;
  if (table > size) {
    tell(0, `it has ${size} bytes, and index.json says ${shard.samples} samples`);
    return NONE;
  }
  const bytes = await window.read(0, table);
  const end = tableEnd(bytes, size);
  const problem =
    typeof end === 'string' || (end.table === table && bytes.byteLength >= table)
      ? end
      : `it has ${(end.table - START) / 4} samples, and index.json says ${shard.samples}`;
  if (typeof problem !== 'string')
    return { ...placesIn(bytes.subarray(0, table), size, tell), header: columnsJson(shard.columns) };
  tell(0, problem);
  return NONE;
}

async function decodeWhole(
  record: RawRecord,
  whole: WholeShard,
  decodeShard: SampleFormat<MdsSample>['decode'],
): Promise<readonly MdsSample[]> {
  const { key, offset, bytes } = record;
  const wrong = await hashProblem(bytes, whole);
  if (wrong !== undefined) throw damaged({ key, offset }, wrong, ADVICE);
  const samples = await decodeShard({ key, offset, bytes });
  if (samples.length === whole.samples) return samples;
  const problem = `it has ${samples.length} samples, and index.json says ${whole.samples}`;
  throw damaged({ key, offset }, problem, ADVICE);
}

const NONE: RecordTable = { offsets: new Float64Array(), lengths: new Float64Array() };

const BZIP2 = /^bz2/;
/** What bzip2 begins with. */
const BZIP2_START = 'BZh';

function bzip2(key: string): TieredError {
  return unsupported(key, 'it is compressed by bzip2, which is not read. Write it by zstd, or decompress it');
}

async function index(
  window: ObjectWindow,
  wanted: readonly string[] | undefined,
  { onDamage }: IndexOptions,
): Promise<RecordTable> {
  const { key, size } = window;
  let bytes = window.peek(0, START) ?? (await window.read(0, START));
  const end = tableEnd(bytes, size);
  if (typeof end === 'string') {
    if (Buffer.from(bytes.subarray(0, BZIP2_START.length)).toString('latin1') === BZIP2_START)
      throw bzip2(key);
    onDamage(damaged({ key, offset: 0 }, end, `${ADVICE} If it is compressed, see which ways mds reads.`));
    return NONE;
  }
  if (bytes.byteLength < end.header) bytes = await window.read(0, end.header);
  const header = bytes.slice(end.table, end.header);
  const columns = header.byteLength < end.header - end.table ? 'its start is cut off' : columnsIn(header);
  if (typeof columns === 'string') {
    onDamage(damaged({ key, offset: end.table }, columns, ADVICE));
    return NONE;
  }
  decodable(key, columns, wanted);
  const tell = (offset: number, problem: string) => onDamage(damaged({ key, offset }, problem, ADVICE));
  return { ...placesIn(bytes.subarray(0, end.table), size, tell), header: new Uint8Array(header) };
}

/** What headers say, which all records of a shard share. */
const known = new WeakMap<Uint8Array, readonly Column[]>();

function decode({ key, offset, bytes, header }: RawRecord, wanted: readonly string[] | undefined): MdsSample {
  const columns = (header && known.get(header)) ?? columnsIn(header ?? new Uint8Array());
  if (typeof columns === 'string') throw damaged({ key, offset }, columns, 'Index the source again.');
  if (header !== undefined) known.set(header, columns);
  const values = decodable(key, columns, wanted);
  const fields = fieldsIn(bytes, columns);
  if (typeof fields === 'string') throw damaged({ key, offset }, fields, ADVICE);
  return Object.fromEntries(
    values.map(({ name, at, encoding, codec }) => {
      const field = fields[at] ?? new Uint8Array();
      try {
        return [name, codec.decode(field)];
      } catch (error) {
        const problem = `its column ${name} is not ${encoding}: ${(error as Error).message}`;
        throw damaged({ key, offset: offset + field.byteOffset - bytes.byteOffset }, problem, ADVICE, error);
      }
    }),
  );
}

/** The columns that are asked for, all of which can be decoded. */
function decodable(key: string, columns: readonly Column[], wanted: readonly string[] | undefined) {
  const missing = wanted?.find((name) => !columns.some((column) => column.name === name));
  if (missing !== undefined) {
    const names = columns.map(({ name }) => name).join(', ');
    throw unsupported(key, `it has no column ${missing}. Ask for columns that it has: ${names}`);
  }
  return columns.flatMap(({ name, encoding, codec }, at) => {
    if (wanted !== undefined && !wanted.includes(name)) return [];
    if (codec !== undefined) return [{ name, encoding, codec, at }];
    const why =
      encoding === 'pkl' ? 'is pickled, which only Python reads' : `is ${encoding}, which is not known`;
    throw unsupported(
      key,
      `its column ${name} ${why}. Write it by another encoding, such as json or ndarray, or leave it out ` +
        'by the option columns',
    );
  });
}

function unsupported(key: string, message: string): TieredError {
  return new TieredError('TIERED_UNSUPPORTED', `${key}: ${message}.`, { key });
}
