import { parquetReadObjects, type ColumnData, type FileMetaData } from 'hyparquet';
import { codecsWith, decompressPage } from './codecs.js';
import type { Chunk, Footer, RowGroup } from './footer.js';
import { Budget, checkPages, type CheckPage } from './pages.js';

/**
 * Bytes between the column chunks as hyparquet sees them. It joins reads of chunks that are near to each
 * other, and each is to be in memory of its own.
 */
const APART = 2 ** 36;

/**
 * Decodes the rows of a row group.
 * @param bytes Those of the row group. They are copied, chunk by chunk.
 * @throws Error of any kind for damaged bytes.
 */
export async function readRows(
  bytes: Uint8Array,
  { schema }: Footer,
  group: RowGroup,
  maxBytes: number,
): Promise<Record<string, unknown>[]> {
  const budget = new Budget(maxBytes);
  const checks = new Map<ArrayBufferLike, Map<number, CheckPage>>();
  const file = {
    byteLength: APART * (group.chunks.length + 1),
    slice: (start: number) => {
      const chunk = chunkAt(group, start);
      const at = chunk.offset - group.offset;
      const memory = new Uint8Array(chunk.length);
      memory.set(bytes.subarray(at, at + chunk.length));
      checks.set(memory.buffer, checkPages(memory, chunk, group.rows, budget));
      return memory.buffer;
    },
  };
  const compressors = codecsWith((codec, input, length) => {
    const check = checks.get(input.buffer)?.get(input.byteOffset);
    if (check === undefined) throw new Error('a page is where none was found');
    const page = decompressPage(codec, input, length);
    check(page);
    return page;
  });
  const columns = new Columns(group);
  const metadata = metadataOf(schema, group);
  const onChunk = (data: ColumnData) => columns.add(data);
  const rows = await parquetReadObjects({ file, metadata, compressors, utf8: false, onChunk });
  columns.assertWhole();
  columns.fillNulls(rows);
  return rows;
}

function chunkAt({ chunks }: RowGroup, start: number): Chunk {
  const chunk = chunks[start / APART - 1];
  if (chunk === undefined) throw new Error('a column chunk is missing');
  return chunk;
}

/** A file of this row group alone. */
function metadataOf(schema: Footer['schema'], { rows, chunks }: RowGroup): FileMetaData {
  const columns = chunks.map(({ about, length }, i) => ({
    file_offset: 0n,
    meta_data: {
      ...about,
      dictionary_page_offset: 0n,
      data_page_offset: BigInt(APART * (i + 1)),
      total_compressed_size: BigInt(length),
    },
  }));
  const group = { columns, total_byte_size: 0n, num_rows: BigInt(rows) };
  return { version: 1, schema, num_rows: BigInt(rows), row_groups: [group], metadata_length: 0 };
}

/** Counts the values of each column, because hyparquet does not say what is missing. */
class Columns {
  readonly #rows: number;
  readonly #found: Map<string, number>;
  readonly #flat: ReadonlySet<string>;
  #lacksValues = false;

  constructor({ rows, chunks }: RowGroup) {
    this.#rows = rows;
    this.#found = new Map(chunks.map(({ leaf }) => [leaf.path[0] ?? '', 0]));
    this.#flat = new Set(chunks.filter(({ leaf }) => leaf.isFlat).map(({ leaf }) => leaf.path[0] ?? ''));
  }

  add({ columnName, columnData }: ColumnData): void {
    this.#found.set(columnName, (this.#found.get(columnName) ?? 0) + columnData.length);
    // What is not in the dictionary.
    if (this.#flat.has(columnName) && Array.isArray(columnData) && columnData.includes(undefined))
      this.#lacksValues = true;
  }

  assertWhole(): void {
    if (this.#lacksValues) throw new Error('values are not in the dictionary');
    for (const [name, rows] of this.#found)
      if (rows !== this.#rows) throw new Error(`column ${name} has ${rows} of ${this.#rows} rows`);
  }

  /** hyparquet has null for what is missing in a flat column, and undefined in others. */
  fillNulls(rows: Record<string, unknown>[]): void {
    const nested = [...this.#found.keys()].filter((name) => !this.#flat.has(name));
    for (const row of rows) for (const name of nested) row[name] ??= null;
  }
}
