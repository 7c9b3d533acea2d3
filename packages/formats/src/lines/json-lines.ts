import { parseBytes, type ByteSize } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import {
  damaged,
  TableBuilder,
  type IndexOptions,
  type RawRecord,
  type RecordTable,
  type SampleFormat,
} from '../contract/format.js';
import { PIECE, pieces, type ObjectWindow } from '../reading/object-window.js';
import { maybeCompressed, type ShardOptions } from '../reading/shards.js';
import { parseJson, type LargeIntegers } from '../text/json.js';

/** Options of `jsonLines`. */
export interface JsonLinesOptions extends ShardOptions<'gzip' | 'zstd'> {
  /**
   * The most bytes of a line. A longer one counts as damaged, and is left out. Default: 16 MiB; what is
   * longer is hardly a line.
   */
  readonly maxLineBytes?: ByteSize | undefined;
  /**
   * What integers beyond 2^53 become, which a `number` would round: a `bigint`, their `text`, the nearest
   * `number`, or an `error`, which is damage of their line. Default: `bigint`, so that nothing is lost.
   * Other numbers are a `number` in any case.
   */
  readonly integers?: LargeIntegers | undefined;
}

const INTEGERS: readonly LargeIntegers[] = ['bigint', 'text', 'number', 'error'];
const LF = 10;
const CR = 13;
/** What JSON takes for white space in a line. */
const BLANK: readonly number[] = [9, 32];

/**
 * Lines of JSON (`.jsonl`, NDJSON), each of which is a sample: what `JSON.parse` makes of it, and bigints for
 * integers beyond 2^53 (`integers`). `NaN`, `Infinity` and `-Infinity` are numbers, as Python writes them.
 * Lines end with LF, CR LF or CR, as those of Python's text files do. Blank lines are ignored, and so is a
 * BOM. All of an object is read to index it. One that is compressed (`.jsonl.gz`, `.jsonl.zst`) is one
 * record. Bad JSON is found when a line is decoded. A last line that is cut off within a number may not be
 * noticed.
 * @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work.
 */
export function jsonLines({
  maxLineBytes = '16MiB',
  integers = 'bigint',
  ...options
}: JsonLinesOptions = {}): SampleFormat<unknown> {
  const most = parseBytes(maxLineBytes, 'maxLineBytes');
  if (!INTEGERS.includes(integers)) throw configError('integers', `one of ${INTEGERS.join(', ')}`, integers);
  const shards = maybeCompressed<unknown, 'gzip' | 'zstd'>(
    {
      startBytes: PIECE,
      isPlain: () => false,
      index: (window, indexOptions) => index(window, most, indexOptions),
      decode: (record) => decode(record, integers),
    },
    ['gzip', 'zstd'],
    options,
  );
  return {
    name: 'json-lines',
    ...shards,
    options: { ...shards.options, maxLineBytes: most, integers },
  };
}

async function index(
  window: ObjectWindow,
  maxLineBytes: number,
  options: IndexOptions,
): Promise<RecordTable> {
  const table = new TableBuilder();
  const line = { start: 0, isBlank: true };
  const endLine = (end: number) => {
    const length = end - line.start;
    if (!line.isBlank && length > maxLineBytes) {
      options.onDamage(
        damaged(
          { key: window.key, offset: line.start },
          `this line has ${length} bytes, more than the ${maxLineBytes} that maxLineBytes allows`,
          'Raise maxLineBytes if such lines are expected.',
        ),
      );
    } else if (!line.isBlank) {
      table.add(line.start, length);
    }
    line.start = end + 1;
    line.isBlank = true;
  };
  let offset = 0;
  for await (const piece of pieces(window, options)) {
    let at = offset === 0 && BOM.every((byte, i) => piece[i] === byte) ? BOM.byteLength : 0;
    if (offset === 0) line.start = at;
    for (const end of endsIn(piece, at)) {
      line.isBlank &&= isBlank(piece, at, end);
      endLine(offset + end);
      at = end + 1;
    }
    line.isBlank &&= isBlank(piece, at, piece.byteLength);
    offset += piece.byteLength;
  }
  endLine(offset);
  return table.build();
}

/** The places of LF and CR. Between the two of CR LF is a blank line. */
function* endsIn(piece: Uint8Array, start: number): Generator<number, void, undefined> {
  let [lf, cr] = [findFrom(piece, LF, start), findFrom(piece, CR, start)];
  while (lf !== cr) {
    if (lf < cr) {
      yield lf;
      lf = findFrom(piece, LF, lf + 1);
    } else {
      yield cr;
      cr = findFrom(piece, CR, cr + 1);
    }
  }
}

/** The next place of a byte; behind the end if there is none. */
function findFrom(bytes: Uint8Array, byte: number, start: number): number {
  const found = bytes.indexOf(byte, start);
  return found === -1 ? bytes.byteLength : found;
}

function isBlank(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    if (!BLANK.includes(bytes[at] ?? 0)) return false;
  }
  return true;
}

function decode(record: RawRecord, integers: LargeIntegers): unknown {
  const text = textOf(record);
  try {
    return parseJson(text, integers);
  } catch (cause) {
    const { key, offset } = record;
    const isJson = cause instanceof Error && !(cause instanceof SyntaxError || cause instanceof RangeError);
    const problem = isJson ? `this line cannot be read: ${cause.message}` : 'this line is not JSON';
    throw damaged({ key, offset }, problem, 'Correct it, or write the object again.', cause);
  }
}

/** Throws for invalid bytes, and leaves a BOM where it is. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** What UTF-8 files may begin with. */
const BOM = Uint8Array.of(0xef, 0xbb, 0xbf);

/** The text of a record. @throws TieredError `TIERED_DATA_CORRUPT` for bytes that are not UTF-8. */
function textOf({ key, offset, bytes }: RawRecord): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw damaged({ key, offset }, 'this line is not UTF-8', 'Write the object again, as UTF-8.', cause);
  }
}
