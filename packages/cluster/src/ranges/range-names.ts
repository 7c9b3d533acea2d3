import { TieredError } from '@tiered/core';

/** A range of an object by its name, and where it begins in the object. */
export interface NamedRange {
  readonly key: string;
  readonly start: number;
}

/** The part of a read that one range has. */
export interface RangePart {
  /** The name of the range. */
  readonly name: string;
  /** Where the part begins in the range. */
  readonly offset: number;
  /** Where it begins in what is read, and where it ends. */
  readonly from: number;
  readonly to: number;
}

/** Stands behind the key. Lower case, so that copies have readable names. */
const MARK = '.tiered-range-';
const NAME = /^(.+)\.tiered-range-([1-9]\d*)-([1-9]\d*)$/s;

/**
 * The names of the ranges of objects. The first range has the key of its object, so that an object of one
 * range stays what it is. Any other one has the key, the size of ranges and its number. Workers with another
 * size name other ranges, and none is taken for another.
 */
export class RangeNames {
  readonly #bytes: number;

  /** @param bytes Those of a range. */
  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Whether a key looks like the name of a range, of whatever size. No object may have such a key. */
  isReserved(key: string): boolean {
    return NAME.test(key);
  }

  /** The beginning of the keys of all objects that may have ranges whose names begin so. */
  prefixOfKeys(prefix: string): string {
    const mark = prefix.indexOf(MARK);
    if (mark !== -1) return prefix.slice(0, mark);
    // It may end within the mark.
    for (let begun = MARK.length - 1; begun > 0; begun -= 1)
      if (prefix.endsWith(MARK.slice(0, begun))) return prefix.slice(0, -begun);
    return prefix;
  }

  /** The range of a name; undefined if there is none of this size. */
  rangeOf(name: string): NamedRange | undefined {
    const [, key = '', bytes, index] = NAME.exec(name) ?? [];
    if (index === undefined) return { key: name, start: 0 };
    const start = Number(index) * this.#bytes;
    if (Number(bytes) !== this.#bytes || !Number.isSafeInteger(start) || this.isReserved(key))
      return undefined;
    return { key, start };
  }

  /** The bytes of a range that begins there. */
  sizeOf(start: number, objectSize: number): number {
    return Math.min(this.#bytes, objectSize - start);
  }

  /** The ranges of an object, in their order. One of no bytes has one. */
  *rangesOf(key: string, size: number): Generator<{ readonly name: string; readonly size: number }> {
    let start = 0;
    do {
      yield { name: this.#nameOf(key, start), size: this.sizeOf(start, size) };
      start += this.#bytes;
    } while (start < size);
  }

  /** The parts of a read, in their order. One of no bytes has one. */
  *partsOf(key: string, offset: number, length: number): Generator<RangePart> {
    let from = 0;
    do {
      const inRange = (offset + from) % this.#bytes;
      const to = Math.min(length, from + this.#bytes - inRange);
      yield { name: this.#nameOf(key, offset + from - inRange), offset: inRange, from, to };
      from = to;
    } while (from < length);
  }

  #nameOf(key: string, start: number): string {
    return start === 0 ? key : `${key}${MARK}${this.#bytes}-${start / this.#bytes}`;
  }
}

/** Makes the error of a key that looks like the name of a range. */
export function reservedKey(key: string): TieredError {
  const message = `The key ${JSON.stringify(key)} looks like the name of a range; give the object another name.`;
  return new TieredError('TIERED_KEY_INVALID', message, { key });
}
