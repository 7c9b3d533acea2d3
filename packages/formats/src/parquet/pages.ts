import { crc32 } from '@node-rs/crc32';
import type { PageHeader } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import type { Chunk, Leaf } from './footer.js';
import { endOfStruct } from './thrift.js';
import { bitsOf, checkRuns, checkValues, type PageValues } from './values.js';

/** Bytes that a value is counted as: the least that a number in an object takes, with its levels. */
export const VALUE_BYTES = 32;

/** What is left of the bytes that decoding a row group may take. */
export class Budget {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  get left(): number {
    return this.#left;
  }

  take(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw new Error('it has more bytes than maxBytes allows when it is decoded');
  }
}

/** Looks at the decompressed content of a page. */
export type CheckPage = (bytes: Uint8Array) => void;

/**
 * Looks at the headers of the pages of a column chunk before hyparquet reads them: what they claim must lie
 * within the chunk and the budget, and checksums must be right.
 * @param bytes The chunk, which has its memory to itself.
 * @returns What is to be looked at when a page is decompressed, by the first byte of what is compressed.
 */
export function checkPages(bytes: Uint8Array, chunk: Chunk, rows: number, budget: Budget) {
  const checks = new Map<number, CheckPage>();
  const { leaf } = chunk;
  let hasDictionary = false;
  let values = 0;
  // As hyparquet does: flat columns end with their rows, whatever follows.
  for (let at = 0; at < bytes.byteLength - 1 && !(leaf.isFlat && values >= rows);) {
    const start = endOfStruct(bytes, at);
    const header = parquetHeader({
      view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
      offset: at,
    });
    const end = start + within('bytes', header.compressed_page_size, bytes.byteLength - start);
    const content = bytes.subarray(start, end);
    budget.take(within('bytes', header.uncompressed_page_size, budget.left));
    if (header.crc !== undefined && (crc32(content) | 0) !== header.crc)
      throw new Error('a checksum is wrong');
    if (header.type === 'DICTIONARY_PAGE') {
      // A column has no more different values than values. They are its own, and are counted once.
      within('values', header.dictionary_page_header?.num_values, chunk.values);
      hasDictionary = true;
      checks.set(start, () => undefined);
    } else {
      const about = dataHeader(header);
      values += takeValues(about.num_values, budget);
      if (about.encoding.endsWith('_DICTIONARY') && !hasDictionary)
        throw new Error('a dictionary is missing');
      checkDataPage(content, start, header, chunk, budget, checks);
    }
    at = end;
  }
  return checks;
}

/** The header of the kind that the type says, as hyparquet chooses it: a page may have others too. */
function dataHeader(header: PageHeader) {
  if (header.type === 'DATA_PAGE' && header.data_page_header !== undefined) return header.data_page_header;
  if (header.type === 'DATA_PAGE_V2' && header.data_page_header_v2 !== undefined)
    return header.data_page_header_v2;
  throw new Error(`a page has the type ${header.type}`);
}

function checkDataPage(
  content: Uint8Array,
  start: number,
  header: PageHeader,
  { leaf, about: { type } }: Chunk,
  budget: Budget,
  checks: Map<number, CheckPage>,
): void {
  const about = { type, typeLength: leaf.typeLength, maxBytes: budget.left, ...levelsOf(leaf) };
  const { data_page_header: first, data_page_header_v2: second } = header;
  if (header.type === 'DATA_PAGE' && first !== undefined) {
    const { encoding, num_values: count } = first;
    const isExact = leaf.maxDefinition === 0;
    const page: PageValues = { ...about, encoding, count, isExact, hasLevels: true };
    checks.set(start, (bytes) => checkValues(bytes, page));
  } else if (header.type === 'DATA_PAGE_V2' && second !== undefined) {
    const { encoding, num_values: count } = second;
    const nulls = within('nulls', second.num_nulls, count);
    const most = Math.min(content.byteLength, header.uncompressed_page_size);
    const repetition = within('bytes', second.repetition_levels_byte_length, most);
    const levels = repetition + within('bytes', second.definition_levels_byte_length, most - repetition);
    if (leaf.maxRepetition > 0) checkRuns(content, 0, bitsOf(leaf.maxRepetition), count);
    if (leaf.maxDefinition > 0) checkRuns(content, repetition, bitsOf(leaf.maxDefinition), count);
    const page: PageValues = { ...about, encoding, count: count - nulls, isExact: true, hasLevels: false };
    // Where hyparquet begins to read values, whatever else the header says.
    const at = leaf.maxDefinition > 0 ? levels : repetition;
    if (second.is_compressed === false) checkValues(content.subarray(at), page);
    else checks.set(start + at, (bytes) => checkValues(bytes, page));
  }
}

function levelsOf({ maxRepetition, maxDefinition }: Leaf) {
  return { maxRepetition, maxDefinition };
}

function takeValues(count: number | undefined, budget: Budget): number {
  const values = within('values', count, Math.floor(budget.left / VALUE_BYTES));
  budget.take(values * VALUE_BYTES);
  return values;
}

/** The number, if it is one from 0 to `most`. */
function within(what: string, value: number | undefined, most: number): number {
  if (value === undefined || !Number.isInteger(value) || value < 0 || value > most) {
    throw new Error(`a page claims ${String(value)} ${what}, and there may be ${most}`);
  }
  return value;
}
