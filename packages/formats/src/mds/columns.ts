import { isUtf8 } from 'node:buffer';
import { codecOf } from './encodings.js';
import type { ValueCodec } from './value-codec.js';

/** A column of a shard. */
export interface Column {
  readonly name: string;
  readonly encoding: string;
  /** Bytes of each of its values; undefined if they differ. */
  readonly size: number | undefined;
  /** Undefined if values of this encoding cannot be decoded. */
  readonly codec: ValueCodec | undefined;
}

/** What a shard says of its columns; or what is wrong with it, as a clause. */
export function columnsIn(json: Uint8Array): readonly Column[] | string {
  const about = objectIn(json);
  return about === undefined ? 'the description of its columns is not a JSON object' : columnsOf(about);
}

/** What such a JSON object says. */
export function columnsOf(about: Readonly<Record<string, unknown>>): readonly Column[] | string {
  const { format, version, column_names: names, column_encodings: encodings, column_sizes: sizes } = about;
  if (format !== 'mds' || version !== 2)
    return `it is ${String(format)} of version ${String(version)}, and not mds of version 2`;
  if (!isListOf(names, isText) || !isListOf(encodings, isText) || !isListOf(sizes, isSize))
    return 'its columns lack names, encodings or sizes';
  if (encodings.length !== names.length || sizes.length !== names.length)
    return 'it has not as many names, encodings and sizes of columns';
  if (new Set(names).size < names.length) return 'two of its columns have one name';
  const columns = names.map((name, i) => {
    const encoding = encodings[i] ?? '';
    // To the library, a size of nothing is no size.
    return { name, encoding, size: sizes[i] || undefined, codec: codecOf(encoding) };
  });
  const wrong = columns.find(({ size, codec }) => codec?.size !== undefined && size !== codec.size);
  if (wrong === undefined) return columns;
  return `its column ${wrong.name} cannot be ${wrong.encoding} of ${wrong.size ?? 'different'} bytes`;
}

/** The JSON that tells of columns, as the library writes it. */
export function columnsJson(columns: readonly Column[]): Uint8Array {
  const about = {
    column_encodings: columns.map(({ encoding }) => encoding),
    column_names: columns.map(({ name }) => name),
    column_sizes: columns.map(({ size }) => size ?? null),
    compression: null,
    format: 'mds',
    hashes: [],
    size_limit: null,
    version: 2,
  };
  return new TextEncoder().encode(JSON.stringify(about));
}

/** The JSON object that bytes are, if they are one. */
export function objectIn(json: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  if (!isUtf8(json)) return undefined;
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(json));
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function isListOf<T>(value: unknown, isOne: (one: unknown) => one is T): value is readonly T[] {
  return Array.isArray(value) && value.every(isOne);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isSize(value: unknown): value is number | null {
  return value === null || (Number.isSafeInteger(value) && (value as number) >= 0);
}

/**
 * The bytes of each column of a sample: the lengths of those that differ in length come first, then all of
 * them one behind the other.
 * @returns Views; or what is wrong, as a clause.
 */
export function fieldsIn(bytes: Uint8Array, columns: readonly Column[]): readonly Uint8Array[] | string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let end = 4 * columns.filter(({ size }) => size === undefined).length;
  if (end > bytes.byteLength) return 'the sample is cut off';
  let at = 0;
  const fields = columns.map(({ size }) => {
    const length = size ?? view.getUint32(at, true);
    if (size === undefined) at += 4;
    return bytes.subarray(end, (end += length));
  });
  if (end === bytes.byteLength) return fields;
  return `the columns of the sample have ${end} bytes, and it has ${bytes.byteLength}`;
}
