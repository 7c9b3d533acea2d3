import { parseBytes, type ByteSize } from '@tiered/core';
import { damaged } from '../contract/damage.js';
import type { IndexOptions, ObjectReader, RawRecord, RecordTable, SampleFormat } from '../contract/format.js';
import { pieces } from '../reading/pieces.js';
import { TableBuilder } from '../reading/table-builder.js';
import { BOM, textOf } from './utf8.js';

/** Options of `jsonLines`. */
export interface JsonLinesOptions {
  /**
   * The most bytes of a line. A longer one counts as damaged, and is left out. Default: 16 MiB; what is
   * longer is hardly a line.
   */
  readonly maxLineBytes?: ByteSize | undefined;
}

const LF = 10;
/** What JSON takes for white space in a line. */
const BLANK: readonly number[] = [9, 13, 32];

/**
 * Lines of JSON (`.jsonl`, NDJSON), each of which is a sample: what `JSON.parse` makes of it. Lines end
 * with LF or CR LF. Blank lines are ignored, and so is a BOM. All of an object is read to index it. Bad
 * JSON is found when a line is decoded. A last line that is cut off within a number may not be noticed.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a size that is none.
 */
export function jsonLines({ maxLineBytes = '16MiB' }: JsonLinesOptions = {}): SampleFormat<unknown> {
  const most = parseBytes(maxLineBytes, 'maxLineBytes');
  return {
    name: 'json-lines',
    options: { maxLineBytes: most },
    index: (object, options) => index(object, most, options),
    decode,
  };
}

async function index(
  object: ObjectReader,
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
          { key: object.key, offset: line.start },
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
  for await (const piece of pieces(object, options)) {
    let at = offset === 0 && BOM.every((byte, i) => piece[i] === byte) ? BOM.byteLength : 0;
    if (offset === 0) line.start = at;
    while (at < piece.byteLength) {
      const found = piece.indexOf(LF, at);
      const end = found === -1 ? piece.byteLength : found;
      line.isBlank &&= isBlank(piece, at, end);
      if (found !== -1) endLine(offset + found);
      at = end + 1;
    }
    offset += piece.byteLength;
  }
  endLine(offset);
  return table.build();
}

function isBlank(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    if (!BLANK.includes(bytes[at] ?? 0)) return false;
  }
  return true;
}

function decode(record: RawRecord): readonly unknown[] {
  const text = textOf(record);
  try {
    return [JSON.parse(text)];
  } catch (cause) {
    const { key, offset } = record;
    throw damaged({ key, offset }, 'this line is not JSON', 'Correct it, or write the object again.', cause);
  }
}
