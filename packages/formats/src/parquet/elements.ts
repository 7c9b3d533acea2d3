import type { ConvertedType, LogicalType, SchemaElement, SchemaTree } from 'hyparquet';
import { DEFAULT_PARSERS } from 'hyparquet/src/convert.js';
import { isMapLike } from 'hyparquet/src/schema.js';
import type { ParquetParsers } from 'hyparquet/src/types.js';
import { parseJson } from '../text/json.js';
import { safeName } from './names.js';

/** Bytes of a decimal of 76 digits, the most that Arrow has, twice. */
const LONGEST_DECIMAL = 64;
/** Digits of such a decimal, and more. */
const LARGEST_SCALE = 154;

/** What hyparquet cannot read, parses without bounds, or gives as text though it is binary. */
const AS_BYTES: readonly string[] = ['VARIANT', 'GEOMETRY', 'GEOGRAPHY', 'UUID', 'BSON', 'INTERVAL'];

/** Older names of what a logical type says. Some writers leave them out, and hyparquet looks for them. */
const OLDER: Partial<Record<LogicalType['type'], ConvertedType>> = {
  DECIMAL: 'DECIMAL',
  DATE: 'DATE',
  JSON: 'JSON',
  MAP: 'MAP',
  LIST: 'LIST',
};

/**
 * An element of a schema as hyparquet is to take it. Variants, geometries, UUIDs, intervals and BSON stay
 * bytes. So do decimals of any length, which take a time that is quadratic in it.
 */
export function readableElement(element: SchemaElement): SchemaElement {
  const { logical_type: logical, converted_type: converted, ...plain } = element;
  const named = { ...plain, name: safeName(element.name) };
  const meaning = converted ?? (logical && OLDER[logical.type]);
  const isBytes = [logical?.type, converted].some((type) => type !== undefined && AS_BYTES.includes(type));
  if (isBytes) return named;
  if (meaning === 'DECIMAL') return decimalElement(named, logical);
  return { ...named, ...(logical && { logical_type: logical }), ...(meaning && { converted_type: meaning }) };
}

function decimalElement(plain: SchemaElement, logical: LogicalType | undefined): SchemaElement {
  const { type, type_length: length = 0 } = plain;
  if (type === 'BYTE_ARRAY' || (type === 'FIXED_LEN_BYTE_ARRAY' && length > LONGEST_DECIMAL)) return plain;
  const said = logical?.type === 'DECIMAL' ? logical : plain;
  const { scale = 0, precision = Infinity } = { ...plain, ...said };
  if (!(scale >= 0 && scale <= LARGEST_SCALE)) throw new Error(`a decimal has the scale ${scale}`);
  return { ...plain, converted_type: 'DECIMAL', scale, precision };
}

/**
 * A leaf as hyparquet is to read it, and what makes values of what is stored. It rounds decimals, and has no
 * parser for them; days have one, which is given every value as it is stored. So decimals are called days.
 * @param onKey Called for a key of a map that got another name.
 */
export function readingOf(
  nodes: readonly SchemaTree[],
  decimals: Decimals | undefined,
  onKey: () => void,
): { readonly nodes: SchemaTree[]; readonly parsers: ParquetParsers } {
  const leaf = nodes.at(-1);
  const map = nodes.at(-3);
  const parsers = { ...DEFAULT_PARSERS, ...OURS };
  if (leaf?.element.converted_type === 'DECIMAL') {
    const element: SchemaElement = { ...leaf.element, converted_type: 'DATE' };
    const read = decimalReader(leaf.element, decimals) as (stored: unknown) => never;
    return {
      nodes: [...nodes.slice(0, -1), { ...leaf, element }],
      parsers: { ...parsers, dateFromDays: read },
    };
  }
  if (map === undefined || !isMapLike(map) || leaf?.element.name !== 'key')
    return { nodes: [...nodes], parsers };
  const stringFromBytes = (bytes: Uint8Array) => {
    const text = DEFAULT_PARSERS.stringFromBytes(bytes) as unknown as string;
    const name = safeName(text);
    if (name !== text) onKey();
    return name as never;
  };
  return { nodes: [...nodes], parsers: { ...parsers, stringFromBytes } };
}

/**
 * hyparquet cuts times towards zero, so that one before 1970 would be after it, and rounds large integers in
 * JSON.
 */
const OURS: Partial<ParquetParsers> = {
  jsonFromBytes: (bytes: Uint8Array | undefined) => bytes && parseJson(new TextDecoder().decode(bytes)),
  timestampFromMicroseconds: (micros: bigint) => new Date(floorDivided(micros, 1000n)),
  timestampFromNanoseconds: (nanos: bigint) => new Date(floorDivided(nanos, 1_000_000n)),
};

function floorDivided(value: bigint, by: bigint): number {
  const quotient = value / by;
  return Number(value < 0n && quotient * by !== value ? quotient - 1n : quotient);
}

/** What decimals become. */
export type Decimals = 'number' | 'text';

/** Numbers keep as many digits: written as a decimal, each is what it was. */
const DIGITS_OF_NUMBERS = 15;
/** Powers of ten that a number is exactly. */
const EXACT_POWER = 22;

/** How values of a decimal column are read: integers, or bytes of one, to be divided by a power of ten. */
function decimalReader(
  { scale = 0, precision = Infinity }: Pick<SchemaElement, 'scale' | 'precision'>,
  decimals: Decimals | undefined,
): (stored: unknown) => number | string {
  const isText = (decimals ?? (precision <= DIGITS_OF_NUMBERS ? 'number' : 'text')) === 'text';
  const factor = 10 ** scale;
  return (stored) => {
    const unscaled = typeof stored === 'number' ? stored : Number(integerOf(stored));
    // A quotient of two exact numbers is rounded once, to the nearest number.
    if (!isText && scale <= EXACT_POWER && Number.isSafeInteger(unscaled)) return unscaled / factor;
    const text = textOf(integerOf(stored), scale);
    return isText ? text : Number(text);
  };
}

function integerOf(stored: unknown): bigint {
  if (typeof stored === 'bigint' || typeof stored === 'number') return BigInt(stored);
  if (!(stored instanceof Uint8Array)) throw new Error('a decimal is not an integer');
  if (stored.byteLength === 0) return 0n;
  const hex = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength).toString('hex');
  return BigInt.asIntN(8 * stored.byteLength, BigInt(`0x${hex}`));
}

/** With as many digits behind the point as the scale says. */
function textOf(unscaled: bigint, scale: number): string {
  const sign = unscaled < 0n ? '-' : '';
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  const point = digits.length - scale;
  return scale === 0 ? sign + digits : `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}
