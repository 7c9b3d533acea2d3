import type { SchemaElement } from 'hyparquet';

/** What decimals become. */
export type Decimals = 'number' | 'text';

/** Numbers keep as many digits: written as a decimal, each is what it was. */
const DIGITS_OF_NUMBERS = 15;
/** Powers of ten that a number is exactly. */
const EXACT_POWER = 22;

/** How values of a decimal column are read: integers, or bytes of one, to be divided by a power of ten. */
export function decimalReader(
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
  if (!(stored instanceof Uint8Array)) throw new Error('a decimal is no integer');
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
