import { TieredError } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { damaged } from '../contract/damage.js';
import type { IndexOptions, RawRecord, RecordTable, SampleFormat } from '../contract/format.js';
import type { ObjectWindow } from '../reading/object-window.js';
import { maybeCompressed, type ShardOptions } from '../reading/shards.js';
import { columnsIn, type Column } from './columns.js';
import { fieldsIn } from './fields.js';
import { isShardStart, placesIn, START, tableEnd } from './shard-table.js';

/** Options of `mds`. */
export interface MdsOptions extends ShardOptions<'gzip' | 'zstd'> {
  /** The columns that are decoded. Default: all. */
  readonly columns?: readonly string[] | undefined;
}

/** A sample: what the columns have, by their names. `mds` says which values that are. */
export type MdsSample = Readonly<Record<string, unknown>>;

const ADVICE = 'Write or fetch the shard again.';

/**
 * MDS, the shards of MosaicML Streaming. To index a shard, one range is read, or two if it has many samples;
 * all of it if it is compressed. Give it shards only: the `index.json` beside them is none.
 *
 * Values are as JavaScript has them: integers of 64 bits (`int`, `int64`, `uint64`) and `str_int` are
 * bigints, arrays are `NdArray`, `str_decimal` is text. `bytes`, `jpeg` and `png` are the bytes, as views of
 * what was read, and lists of them are arrays; `pil` is a `PilImage`.
 *
 * A shard has no checksums. Samples that lie where none can be are damaged, and the others are found. Other
 * compressions than gzip and zstd count as damage.
 * @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work. Index and decoding throw
 * `TIERED_UNSUPPORTED` for columns that cannot be decoded (`pkl`: `columns` leaves them out), for columns
 * that are asked for and not there, and for zstd before Node 22.15.
 */
export function mds({ columns, ...options }: MdsOptions = {}): SampleFormat<MdsSample> {
  if (columns !== undefined && (columns.length === 0 || new Set(columns).size < columns.length))
    throw configError('columns', 'at least one name, and none twice', columns);
  const shards = maybeCompressed<MdsSample, 'gzip' | 'zstd'>(
    {
      startBytes: START,
      isPlain: isShardStart,
      index: (window, indexOptions) => index(window, columns, indexOptions),
      decode: (record) => decode(record, columns),
    },
    ['gzip', 'zstd'],
    options,
  );
  return { name: 'mds', ...shards, options: { ...shards.options, ...(columns && { columns }) } };
}

async function index(
  window: ObjectWindow,
  wanted: readonly string[] | undefined,
  { onDamage }: IndexOptions,
): Promise<RecordTable> {
  const { key, size } = window;
  const none = { offsets: new Float64Array(), lengths: new Float64Array() };
  let bytes = window.peek(0, START) ?? (await window.read(0, START));
  const end = tableEnd(bytes, size);
  if (typeof end === 'string') {
    onDamage(damaged({ key, offset: 0 }, end, `${ADVICE} If it is compressed, see which ways mds reads.`));
    return none;
  }
  if (bytes.byteLength < end.header) bytes = await window.read(0, end.header);
  const header = bytes.slice(end.table, end.header);
  const columns = header.byteLength < end.header - end.table ? 'its start is cut off' : columnsIn(header);
  if (typeof columns === 'string') {
    onDamage(damaged({ key, offset: end.table }, columns, ADVICE));
    return none;
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
