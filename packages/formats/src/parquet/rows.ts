import { assembleNested } from 'hyparquet/src/assemble.js';
import { readColumn } from 'hyparquet/src/column.js';
import type { DecodedArray } from 'hyparquet/src/types.js';
import { flatten } from 'hyparquet/src/utils.js';
import { codecsWith, decompressPage } from './codecs.js';
import { readingOf, type Decimals } from './elements.js';
import type { Chunk, Footer, RowGroup } from './footer.js';
import { restoreNames, setOwn, trueName } from './names.js';
import { Budget, checkPages } from './pages.js';

/** How rows are decoded. */
export interface RowOptions {
  readonly maxBytes: number;
  readonly decimals?: Decimals;
}

/** The values of a column, one for each row. */
interface Column {
  readonly name: string;
  readonly values: DecodedArray;
}

/**
 * Decodes the rows of a row group.
 * @param bytes Those of the row group. They are copied, chunk by chunk.
 * @throws Error of any kind for damaged bytes.
 */
export function readRows(
  bytes: Uint8Array,
  footer: Footer,
  group: RowGroup,
  options: RowOptions,
): Record<string, unknown>[] {
  const columns = columnsOf(bytes, footer, group, options);
  const rows: Record<string, unknown>[] = [];
  for (let i = 0; i < group.rows; i++) {
    const row: Record<string, unknown> = {};
    // hyparquet has null for what is missing in a flat column, and undefined in others.
    for (const { name, values } of columns) setOwn(row, name, values[i] ?? null);
    rows.push(row);
  }
  return rows;
}

/** In the order of the schema. */
function columnsOf(bytes: Uint8Array, { root }: Footer, group: RowGroup, options: RowOptions): Column[] {
  const budget = new Budget(options.maxBytes);
  const byName = new Map<string, Chunk[]>();
  for (const chunk of group.chunks) {
    const name = chunk.leaf.path[0] ?? '';
    byName.set(name, [...(byName.get(name) ?? []), chunk]);
  }
  return root.children.flatMap((node): Column[] => {
    const { name } = node.element;
    const chunks = byName.get(name) ?? [];
    const [first] = chunks;
    if (first === undefined) return [];
    let isRenamed = chunks.some(({ leaf: { path } }) =>
      path.slice(1).some((part) => part !== trueName(part)),
    );
    const read = (chunk: Chunk) => {
      const reading = readingOf(chunk.leaf.nodes, options.decimals, () => (isRenamed = true));
      return { ...valuesOf(bytes, chunk, group, budget, reading), reading };
    };
    const leaves = chunks.map((chunk) => ({ chunk, ...read(chunk) }));
    if (first.leaf.isFlat && leaves[0]?.values.includes(undefined))
      throw new Error('values are not in the dictionary');
    const parts = new Map(leaves.map(({ chunk, values }) => [chunk.leaf.path.join('.'), values]));
    if (node.children.length > 0 && leaves[0] !== undefined)
      assembleNested(parts, node, leaves[0].reading.parsers);
    const values = parts.get(name) ?? [];
    if (values.length !== group.rows)
      throw new Error(`column ${trueName(name)} has ${values.length} of ${group.rows} rows`);
    if (isRenamed) restoreNames(values);
    return [{ name: trueName(name), values }];
  });
}

/** The values of a chunk, nested as its lists are. */
function valuesOf(
  bytes: Uint8Array,
  chunk: Chunk,
  { offset, rows }: RowGroup,
  budget: Budget,
  { nodes, parsers }: ReturnType<typeof readingOf>,
): { readonly values: DecodedArray } {
  const { leaf, about, length } = chunk;
  const memory = new Uint8Array(length);
  memory.set(bytes.subarray(chunk.offset - offset, chunk.offset - offset + length));
  const checks = checkPages(memory, chunk, rows, budget);
  const compressors = codecsWith((codec, input, size) => {
    const check = checks.get(input.byteOffset);
    if (check === undefined) throw new Error('a page is where none was found');
    const page = decompressPage(codec, input, size);
    check(page);
    return page;
  });
  const element = nodes.at(-1)?.element ?? { name: '' };
  const { type, codec } = about;
  const column = { type, codec, element, schemaPath: nodes, pathInSchema: [...leaf.path] };
  const { data } = readColumn(
    { view: new DataView(memory.buffer), offset: 0 },
    { groupStart: 0, groupRows: rows, selectStart: 0, selectEnd: rows },
    { ...column, compressors, parsers, utf8: false },
  );
  return { values: flatten(data) };
}
