import {
  parquetMetadata,
  parquetSchema,
  type ColumnChunk,
  type SchemaElement,
  type SchemaTree,
} from 'hyparquet';
import { deserializeTCompactProtocol } from 'hyparquet/src/thrift.js';
import { NO_CODEC } from './codecs.js';
import { Walk } from './thrift.js';

/** Bytes behind the metadata: their length, and `PAR1`. */
export const TAIL = 8;
const MAGIC = 0x31524150;
/** hyparquet goes down schemas by recursion. */
const DEEPEST = 64;
/** From these bytes on, a number is none, and a text is long. */
const LONG = 4096;
/** Bytes of a decimal of 76 digits, the most that Arrow has, twice. */
const LONGEST_DECIMAL = 64;
/** The number of that type in parquet.thrift. */
const BYTE_ARRAY = 6;

/** What a column chunk holds, as `getMaxDefinitionLevel` and the like of hyparquet count it. */
export interface Leaf {
  readonly path: readonly string[];
  readonly typeLength: number;
  readonly maxRepetition: number;
  readonly maxDefinition: number;
  /** Whether it is a column by itself, that has no lists. */
  readonly isFlat: boolean;
}

/** A column chunk of a row group. */
export interface Chunk {
  readonly leaf: Leaf;
  readonly type: string;
  /** First byte in the object. */
  readonly offset: number;
  readonly length: number;
  readonly about: NonNullable<ColumnChunk['meta_data']>;
}

/** A row group, as far as its columns are asked for. */
export interface RowGroup {
  /** First byte of its first column chunk. */
  readonly offset: number;
  /** Bytes to the end of its last one. */
  readonly length: number;
  readonly rows: number;
  readonly chunks: readonly Chunk[];
}

/** What the footer of a file says. Row groups are looked at one by one, because each may be wrong. */
export interface Footer {
  readonly schema: SchemaElement[];
  readonly rowGroups: number;
  /** @throws Error for a row group that cannot be. */
  rowGroup(i: number): RowGroup;
}

/** The length of the metadata, by the last bytes of a file. */
export function metadataLength(tail: Uint8Array): number | undefined {
  if (tail.byteLength < TAIL) return undefined;
  const view = new DataView(tail.buffer, tail.byteOffset + tail.byteLength - TAIL, TAIL);
  return view.getUint32(4, true) === MAGIC ? view.getUint32(0, true) : undefined;
}

/**
 * Parses a footer: metadata, their length and `PAR1`.
 * @param columns The columns that are asked for; undefined for all of them.
 * @throws Error if it is not whole, or lacks a column.
 */
export function parseFooter(footer: Uint8Array, columns: readonly string[] | undefined): Footer {
  if (metadataLength(footer) !== footer.byteLength - TAIL) throw new Error('it has another length');
  assertParsable(footer);
  const metadata = parquetMetadata(footer, { geoparquet: false });
  const schema = metadata.schema.map(plainElement);
  assertShallow(schema);
  const root = parquetSchema({ schema });
  const names = new Set(root.children.map(({ element }) => element.name));
  for (const name of columns ?? []) if (!names.has(name)) throw new Error(`there is no column ${name}`);
  const wanted = new Set(columns ?? names);
  const leaves = new Map(leavesOf(root).map((leaf) => [pathKey(leaf.path), leaf]));
  const expected = leavesOf(root).filter(({ path }) => wanted.has(path[0] ?? '')).length;
  const rowGroup = (i: number): RowGroup => {
    const group = metadata.row_groups[i];
    const chunks = (group?.columns ?? [])
      .map((column) => chunkOf(column, leaves))
      .filter(({ leaf }) => wanted.has(leaf.path[0] ?? ''));
    const paths = new Set(chunks.map(({ leaf }) => leaf));
    if (paths.size !== expected || chunks.length !== expected) throw new Error('columns are missing');
    const offset = Math.min(...chunks.map((chunk) => chunk.offset));
    const end = Math.max(...chunks.map((chunk) => chunk.offset + chunk.length));
    return { offset, length: end - offset, rows: numberOf(group?.num_rows), chunks };
  };
  return { schema, rowGroups: metadata.row_groups.length, rowGroup };
}

/**
 * Looks at the struct before hyparquet parses it. Decimals are parsed in a time that is quadratic in their
 * length, those in statistics too. Few files have long texts and such decimals.
 */
function assertParsable(footer: Uint8Array): void {
  const walk = new Walk(footer, 0);
  walk.struct(0);
  if (walk.longest <= LONG) return;
  const view = new DataView(footer.buffer, footer.byteOffset, footer.byteLength);
  const raw = deserializeTCompactProtocol({ view, offset: 0 }) as unknown as RawMetadata;
  const types = raw.field_2
    .map(({ field_1: type }) => type)
    .filter((type) => type !== undefined && type <= 7);
  for (const { field_1: columns } of raw.field_4)
    for (const [i, { field_3: about }] of columns.entries()) {
      const statistics: unknown[] = Object.values(about?.field_12 ?? {});
      const isLong = statistics.some((one) => one instanceof Uint8Array && one.byteLength > LONG);
      if (types[i] !== BYTE_ARRAY && isLong) throw new Error('statistics of a column are too long');
    }
}

/** What of the metadata is looked at, by the numbers of fields in parquet.thrift. */
interface RawMetadata {
  readonly field_2: readonly { readonly field_1?: number }[];
  readonly field_4: readonly { readonly field_1: readonly { readonly field_3?: { field_12?: object } }[] }[];
}

/**
 * Variants and geometries are parsed without bounds by hyparquet, and decimals of any length in a time that
 * is quadratic in it. Their bytes are left as they are.
 */
function plainElement(element: SchemaElement): SchemaElement {
  const { logical_type: logical, converted_type: converted, ...plain } = element;
  const { type, type_length: length = 0 } = element;
  const isLong = type === 'BYTE_ARRAY' || (type === 'FIXED_LEN_BYTE_ARRAY' && length > LONGEST_DECIMAL);
  if (converted === 'DECIMAL' && isLong) return plain;
  const isParsed = logical !== undefined && ['VARIANT', 'GEOMETRY', 'GEOGRAPHY'].includes(logical.type);
  return isParsed ? { ...plain, ...(converted !== undefined && { converted_type: converted }) } : element;
}

/** Elements come in the order of a walk from the root, each with how many children follow it. */
function assertShallow(schema: readonly SchemaElement[]): void {
  const open: number[] = [];
  for (const { num_children: children = 0 } of schema) {
    while (open.at(-1) === 0) open.pop();
    const parent = open.pop();
    if (parent !== undefined) open.push(parent - 1);
    if (children > 0) open.push(children);
    if (open.length > DEEPEST) throw new Error('columns nest too deep');
  }
}

function leavesOf(root: SchemaTree): Leaf[] {
  const leaves: Leaf[] = [];
  const go = (node: SchemaTree, repetition: number, definition: number) => {
    for (const child of node.children) {
      const { repetition_type: kind, type_length: typeLength = 0 } = child.element;
      const maxRepetition = repetition + (kind === 'REPEATED' ? 1 : 0);
      const maxDefinition = definition + (kind === 'REQUIRED' ? 0 : 1);
      const isFlat = node === root && kind !== 'REPEATED';
      const leaf = { path: child.path, typeLength, maxRepetition, maxDefinition, isFlat };
      if (child.children.length === 0) leaves.push(leaf);
      else go(child, maxRepetition, maxDefinition);
    }
  };
  go(root, root.element.repetition_type === 'REPEATED' ? 1 : 0, 0);
  return leaves;
}

function pathKey(path: readonly string[]): string {
  return JSON.stringify(path);
}

function chunkOf({ file_path: file, meta_data: about }: ColumnChunk, leaves: Map<string, Leaf>): Chunk {
  if (file !== undefined && file !== '') throw new Error(`a column is in the file ${file}`);
  if (about === undefined) throw new Error('a column says nothing of itself; it may be encrypted');
  const leaf = leaves.get(pathKey(about.path_in_schema));
  if (leaf === undefined) throw new Error(`a column is not in the schema: ${about.path_in_schema.join('.')}`);
  const [data, dictionary] = [about.data_page_offset, about.dictionary_page_offset];
  const offset = numberOf(
    dictionary !== undefined && dictionary > 0n && dictionary < data ? dictionary : data,
  );
  const codec = about.codec === 'UNCOMPRESSED' ? (NO_CODEC as typeof about.codec) : about.codec;
  const length = numberOf(about.total_compressed_size);
  return { leaf, type: about.type, offset, length, about: { ...about, codec } };
}

function numberOf(value: bigint | undefined): number {
  const number = Number(value);
  if (typeof value !== 'bigint' || !Number.isSafeInteger(number) || number < 0) {
    throw new Error(`a number cannot be ${String(value)}`);
  }
  return number;
}
