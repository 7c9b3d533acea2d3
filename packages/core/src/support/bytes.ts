import { configError } from './errors.js';

/** A number of bytes, or a string such as `'200GiB'`, `'1.5 GB'` or `'64KiB'`. */
export type ByteSize = number | string;

const UNITS: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['b', 1],
  ...['kb', 'mb', 'gb', 'tb', 'pb'].map((name, i) => [name, 1000 ** (i + 1)] as const),
  ...['kib', 'mib', 'gib', 'tib', 'pib'].map((name, i) => [name, 1024 ** (i + 1)] as const),
]);

/**
 * Converts a size to a whole number of bytes. `kB`, `MB` ... are powers of 1000, `KiB`, `MiB` ... powers of
 * 1024, as the IEC defines them. Case does not matter. A fraction of a byte is rounded down.
 * @param size Bytes as a number, or digits with a unit.
 * @param field Name of the option, for the error message.
 * @throws TieredError `TIERED_CONFIG_INVALID` for anything else, negative sizes and sizes above 2^53 - 1.
 */
export function parseBytes(size: ByteSize, field = 'size'): number {
  const bytes = typeof size === 'number' ? size : parseText(size);
  const valid = Number.isSafeInteger(bytes) && bytes >= 0;
  if (!valid) throw configError(field, 'a number of bytes or a string such as "200GiB"', size);
  return bytes;
}

function parseText(text: unknown): number {
  if (typeof text !== 'string') return Number.NaN;
  const match = /^\s*(\d+)(?:\.(\d+))?\s*([a-z]*)\s*$/i.exec(text);
  if (match === null) return Number.NaN;
  const [, whole = '', fraction = '', name = ''] = match;
  const unit = UNITS.get(name.toLowerCase());
  // Integer arithmetic throughout: 1.001 kB is 1001 bytes, and not the 1000.9999... of floating point.
  return unit === undefined
    ? Number.NaN
    : Number((BigInt(whole + fraction) * BigInt(unit)) / 10n ** BigInt(fraction.length));
}

/**
 * Formats a number of bytes for people, in powers of 1024 with at most one decimal: `1536` is `'1.5 KiB'`.
 * @param bytes A number of bytes.
 */
export function formatBytes(bytes: number): string {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < names.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : Number(value.toFixed(1))} ${names[unit] ?? 'B'}`;
}
