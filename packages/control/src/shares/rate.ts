/** A rate per second: bytes, and operations. An unbounded part is `Infinity`. */
export interface Rate {
  readonly bytes: number;
  readonly operations: number;
}

export const NO_RATE: Rate = { bytes: 0, operations: 0 };
export const NO_BOUND: Rate = { bytes: Infinity, operations: Infinity };

/** Combines several rates into one, part by part. */
export function combined(combine: (...parts: number[]) => number, ...rates: readonly Rate[]): Rate {
  return {
    bytes: combine(...rates.map(({ bytes }) => bytes)),
    operations: combine(...rates.map(({ operations }) => operations)),
  };
}

/** The sum of rates. */
export function sumOf(rates: readonly Rate[]): Rate {
  return rates.reduce((sum, rate) => combined((a = 0, b = 0) => a + b, sum, rate), NO_RATE);
}
