import { parseBytes, type ByteSize } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { CsvError, parse, type Options } from 'csv-parse';
import { parse as parseSync } from 'csv-parse/sync';
import { isUtf8 } from 'node:buffer';
import { pipeline } from 'node:stream/promises';
import {
  damaged,
  type IndexOptions,
  type RawRecord,
  type RecordTable,
  type SampleFormat,
} from '../contract/format.js';
import { PIECE, pieces, type ObjectWindow } from '../reading/object-window.js';
import { maybeCompressed, type ShardOptions } from '../reading/shards.js';
import { Rows, wrongCount, type Columns } from './rows.js';

/** Options of `csv`. */
export interface CsvOptions extends ShardOptions<'gzip' | 'zstd'> {
  /**
   * The names of the columns: `true` if the first row has them, or a list if no row has. With `false` there
   * are no names, and samples are arrays. Default: true.
   */
  readonly columns?: boolean | readonly string[] | undefined;
  /** What separates columns. Default: `,`. */
  readonly delimiter?: string | undefined;
  /** What texts are quoted by, one character; `false` if quotes have no meaning. Default: `"`. */
  readonly quote?: string | false | undefined;
  /**
   * What stands before a quote that is a part of a quoted text, one character: `\\` in files of MySQL and
   * Spark. Default: the quote itself, as in `"5"" disk"`.
   */
  readonly escape?: string | undefined;
  /**
   * The most bytes of a row, with the blank lines before it. A longer one counts as damaged. Default: 16
   * MiB, which keeps a quote that is never closed from making one row of all that follows.
   */
  readonly maxRowBytes?: ByteSize | undefined;
}

/** The options as they apply. */
interface Applied extends Columns {
  readonly delimiter: string;
  readonly quote: string | false;
  readonly escape: string | null;
}

/** A row by the names of its columns. All values are texts. */
export type CsvRow = Readonly<Record<string, string>>;

const ADVICE = 'Correct it, or check delimiter and quote.';

/**
 * CSV, each row of which is a sample: its texts by the names of the columns, or as an array. Rows end with
 * LF, CR LF or CR, and quoted texts may have line endings in them. Blank lines are ignored, and so is a BOM.
 * All of an object is read to index it. One that is compressed (`.csv.gz`, `.csv.zst`) is one record.
 *
 * A quote within a text that does not begin with one is a part of it. A row that has not as many texts as
 * there are names counts as damaged and is left out. So is one with something behind a closing quote, when it
 * is decoded. Behind a quote that is not closed, or a row that is too long, nobody knows where rows begin:
 * the table ends there.
 * @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work.
 */
export function csv(options: CsvOptions & { readonly columns: false }): SampleFormat<readonly string[]>;
export function csv(options?: CsvOptions): SampleFormat<CsvRow>;
export function csv(options: CsvOptions = {}): SampleFormat<CsvRow | readonly string[]> {
  const applied = checked(options);
  const shards = maybeCompressed<CsvRow | readonly string[], 'gzip' | 'zstd'>(
    {
      startBytes: PIECE,
      isPlain: () => false,
      index: (window, indexOptions) => index(window, applied, indexOptions),
      decode: (record) => decode(record, applied),
    },
    ['gzip', 'zstd'],
    options,
  );
  const { escape, ...others } = applied;
  return {
    name: 'csv',
    ...shards,
    options: { ...shards.options, ...others, ...(escape !== null && { escape }) },
  };
}

function checked({
  columns = true,
  delimiter = ',',
  quote = '"',
  escape = quote === false ? undefined : quote,
  maxRowBytes = '16MiB',
}: CsvOptions): Applied {
  if (delimiter === '' || /[\r\n]/.test(delimiter))
    throw configError('delimiter', 'text in one line', delimiter);
  if (quote !== false && !/^[\x20-\x7e]$/.test(quote))
    throw configError('quote', 'one ASCII character, or false', quote);
  if (quote !== false && delimiter.includes(quote))
    throw configError('quote', 'no part of the delimiter', quote);
  if (
    escape !== undefined &&
    (quote === false || !/^[\x20-\x7e]$/.test(escape) || delimiter.includes(escape))
  )
    throw configError('escape', 'one ASCII character that is not part of the delimiter, and a quote', escape);
  if (typeof columns !== 'boolean' && (columns.length === 0 || new Set(columns).size < columns.length)) {
    throw configError('columns', 'at least one name, and none twice', columns);
  }
  return {
    columns,
    delimiter,
    quote,
    escape: escape ?? null,
    maxRowBytes: parseBytes(maxRowBytes, 'maxRowBytes'),
  };
}

/** What the parser is told, the same for a whole object and for one row. */
function parserOptions({ delimiter, quote, escape, maxRowBytes }: Applied, hasBom: boolean) {
  return {
    bom: hasBom,
    delimiter,
    quote,
    escape,
    max_record_size: maxRowBytes,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
  } satisfies Options;
}

async function index(window: ObjectWindow, applied: Applied, options: IndexOptions): Promise<RecordTable> {
  const rows = new Rows(window.key, applied, options);
  const onRecord = (row: string[], { bytes }: { readonly bytes: number }) => {
    rows.add(row, bytes);
    return null;
  };
  const parser = parse({ ...parserOptions(applied, true), on_record: onRecord });
  parser.resume();
  try {
    await pipeline(rows.guarded(pieces(window, options)), parser);
  } catch (error) {
    if (error instanceof CsvError) {
      options.onDamage(rows.damage(`the row that begins here is not CSV: ${error.message}`, error));
    } else if (rows.failure !== undefined && error === rows.failure) options.onDamage(rows.failure);
    else throw error;
  }
  return rows.build();
}

function decode({ key, offset, bytes, header }: RawRecord, applied: Applied): CsvRow | readonly string[] {
  const at = { key, offset };
  if (!isUtf8(bytes)) throw damaged(at, 'this row is not UTF-8', 'Write the object again, as UTF-8.');
  const row = onlyRow(at, bytes, applied);
  const open = row.find((text) => isClosedEarly(text, bytes, applied));
  if (open !== undefined)
    throw damaged(at, `a quote is closed before its text ends: ${open.slice(0, 40)}`, ADVICE);
  const { columns } = applied;
  if (columns === false) return row;
  const names = columns === true ? namesIn(at, header) : columns;
  if (names.length !== row.length) throw damaged(at, wrongCount(row, names), ADVICE);
  return Object.fromEntries(names.map((name, i) => [name, row[i] ?? '']));
}

/**
 * Whether something other than a delimiter follows behind the closing quote of a text. The parser then leaves
 * the text as it is, from its quote on. Texts that really begin with a quote have it escaped.
 */
function isClosedEarly(text: string, row: Uint8Array, { quote, escape }: Applied): boolean {
  if (quote === false || escape === null || !text.startsWith(quote)) return false;
  const rest = text.slice(1);
  const ends = [quote, escape].map((sign) => rest.indexOf(sign)).filter((end) => end >= 0);
  const escaped = quote + escape + quote + rest.slice(0, Math.min(rest.length, ...ends));
  return !Buffer.from(row.buffer, row.byteOffset, row.byteLength).includes(escaped);
}

function onlyRow(at: { key: string; offset: number }, bytes: Uint8Array, applied: Applied): string[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const [row, ...others] = parseSync(buffer, parserOptions(applied, at.offset === 0));
    if (row !== undefined && others.length === 0) return row;
  } catch (error) {
    throw damaged(at, 'this row is not CSV', ADVICE, error);
  }
  throw damaged(at, 'this is not one row', ADVICE);
}

function namesIn(at: { key: string; offset: number }, header: Uint8Array | undefined): string[] {
  try {
    return JSON.parse(new TextDecoder().decode(header)) as string[];
  } catch (error) {
    throw damaged(at, 'the names of its columns are missing', 'Index the source again.', error);
  }
}
