import {
  parquetMetadata,
  parquetSchema,
  type ColumnChunk,
  type SchemaElement,
  type SchemaTree,
} from 'hyparquet';
import { deserializeTCompactProtocol } from 'hyparquet/src/thrift.js';
import { isKnownCodec, NO_CODEC } from './codecs.js';
import { readableElement } from './elements.js';
import { safeName } from './names.js';
import { Walk } from './thrift.js';

/** Bytes behind the metadata: their length, and `PAR1`. */
export const TAIL = 8;
const MAGIC = 0x31524150;
/** `PARE`, behind a footer that is encrypted. */
const ENCRYPTED = 0x45524150;
/** hyparquet goes down schemas by recursion. */
const DEEPEST = 64;
/** From these bytes on, a number is none, and a text is long. */
const LONG = 4096;
/** The number of that type in parquet.thrift. */
const BYTE_ARRAY = 6;

/** What a column chunk holds, as `getMaxDefinitionLevel` and the like of hyparquet count it. */
export interface Leaf {
  readonly path: readonly string[];
  /** From the root of the schema to the leaf. */
  readonly nodes: SchemaTree[];
  readonly typeLength: number;
  readonly maxRepetition: number;
  readonly maxDefinition: number;
  /** Whether it is a column by itself, that has no lists. */
  readonly isFlat: boolean;
}

/** A column chunk of a row group. */
export interface Chunk {
  readonly leaf: Leaf;
  /** First byte in the object. */
  readonly offset: number;
  readonly length: number;
  /** Values, and nulls among them. */
  readonly values: number;
  /** Bytes of its pages when they are decompressed, as it says itself. */
  readonly decompressed: number;
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
  readonly root: SchemaTree;
  readonly rowGroups: number;
  /** @throws Error for a row group that cannot be. */
  rowGroup(i: number): RowGroup;
}

/** Why a file cannot be read that is as it was written. */
export class EncryptedError extends Error {}

/** Whether the last bytes of a file say that its footer is encrypted. */
export function isEncrypted(tail: Uint8Array): boolean {
  if (tail.byteLength < TAIL) return false;
  const end = new DataView(tail.buffer, tail.byteOffset + tail.byteLength - TAIL, TAIL);
  return end.getUint32(4, true) === ENCRYPTED;
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
  const schema = metadata.schema.map(readableElement);
  assertShallow(schema);
  const root = parquetSchema({ schema });
  const names = new Set(root.children.map(({ element }) => element.name));
  const missing = columns?.find((name) => !names.has(safeName(name)));
  if (missing !== undefined) throw new Error(`no column ${missing}`);
  const wanted = new Set(columns?.map(safeName) ?? names);
  const all = leavesOf(root);
  const leaves = new Map(all.map((leaf) => [pathKey(leaf.path), leaf]));
  const expected = all.filter(({ path }) => wanted.has(path[0] ?? '')).length;
  const rowGroup = (i: number): RowGroup => {
    const group = metadata.row_groups[i];
    const chunks = (group?.columns ?? []).flatMap((column, place) => {
      const leaf = leafOf(column, leaves) ?? all[place];
      return leaf !== undefined && wanted.has(leaf.path[0] ?? '') ? [chunkOf(column, leaf)] : [];
    });
    const paths = new Set(chunks.map(({ leaf }) => leaf));
    if (paths.size !== expected || chunks.length !== expected) throw new Error('columns are missing');
    const offset = Math.min(...chunks.map((chunk) => chunk.offset));
    const end = Math.max(...chunks.map((chunk) => chunk.offset + chunk.length));
    return { offset, length: end - offset, rows: numberOf(group?.num_rows), chunks };
  };
  return { root, rowGroups: metadata.row_groups.length, rowGroup };
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
  const go = (above: readonly SchemaTree[], node: SchemaTree, repetition: number, definition: number) => {
    for (const child of node.children) {
      const nodes = [...above, child];
      const { repetition_type: kind, type_length: typeLength = 0 } = child.element;
      const maxRepetition = repetition + (kind === 'REPEATED' ? 1 : 0);
      const maxDefinition = definition + (kind === 'REQUIRED' ? 0 : 1);
      const isFlat = node === root && kind !== 'REPEATED';
      if (child.children.length === 0) {
        leaves.push({ path: child.path, nodes, typeLength, maxRepetition, maxDefinition, isFlat });
      } else go(nodes, child, maxRepetition, maxDefinition);
    }
  };
  go([root], root, root.element.repetition_type === 'REPEATED' ? 1 : 0, 0);
  return leaves;
}

function pathKey(path: readonly string[]): string {
  return JSON.stringify(path);
}

/** The leaf that a column chunk says it is of. One that is encrypted may not say it, and has its place. */
function leafOf({ meta_data: about }: ColumnChunk, leaves: Map<string, Leaf>): Leaf | undefined {
  if (about === undefined) return undefined;
  const leaf = leaves.get(pathKey(about.path_in_schema.map(safeName)));
  if (leaf === undefined) throw new Error(`a column is not in the schema: ${about.path_in_schema.join('.')}`);
  return leaf;
}

function chunkOf(column: ColumnChunk, leaf: Leaf): Chunk {
  const { file_path: file, meta_data: about } = column;
  if (column.crypto_metadata !== undefined || column.encrypted_column_metadata !== undefined)
    throw new EncryptedError(`its column ${leaf.path.join('.')} is encrypted`);
  if (file !== undefined && file !== '') throw new Error(`a column is in the file ${file}`);
  if (about === undefined) throw new Error('a column says nothing of itself');
  const [data, dictionary] = [about.data_page_offset, about.dictionary_page_offset];
  const offset = numberOf(
    dictionary !== undefined && dictionary > 0n && dictionary < data ? dictionary : data,
  );
  const codec = about.codec === 'UNCOMPRESSED' ? (NO_CODEC as typeof about.codec) : about.codec;
  if (!isKnownCodec(codec)) throw new Error(`pages compressed by ${codec} cannot be read`);
  return {
    leaf,
    offset,
    length: numberOf(about.total_compressed_size),
    values: numberOf(about.num_values),
    decompressed: numberOf(about.total_uncompressed_size),
    about: { ...about, codec },
  };
}

function numberOf(value: bigint | undefined): number {
  const number = Number(value);
  if (typeof value !== 'bigint' || !Number.isSafeInteger(number) || number < 0) {
    throw new Error(`invalid number: ${String(value)}`);
  }
  return number;
}
