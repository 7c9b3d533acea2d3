import { TieredError } from '@tiered/core';

/** A range of an object by its name, with its start in the object. */
export interface NamedRange {
  readonly key: string;
  readonly start: number;
}

/** The part of a read that lies in one range. */
export interface RangePart {
  /** The name of the range. */
  readonly name: string;
  /** The start of the part in the range. */
  readonly offset: number;
  /** The start and the end of the part in the bytes that are read. */
  readonly from: number;
  readonly to: number;
}

/** Follows the key. Lower case, so that copies have readable names. */
const MARK = '.tiered-range-';
const NAME = /^(.+)\.tiered-range-([1-9]\d*)-([1-9]\d*)$/s;

/**
 * The names of the ranges of objects. The first range has the key of its object, so an object of one range
 * keeps its name. Any other range is named by the key, the size of ranges and its number. Workers with
 * another size use other names, so ranges of different sizes are never confused.
 */
export class RangeNames {
  readonly #bytes: number;

  /** @param bytes The size of a range. */
  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Whether a key looks like the name of a range, of whatever size. No object may have such a key. */
  isReserved(key: string): boolean {
    return NAME.test(key);
  }

  /** The common prefix of the keys of all objects that may have ranges whose names begin with `prefix`. */
  prefixOfKeys(prefix: string): string {
    const mark = prefix.indexOf(MARK);
    if (mark !== -1) return prefix.slice(0, mark);
    // The prefix may end within the mark.
    for (let begun = MARK.length - 1; begun > 0; begun -= 1)
      if (prefix.endsWith(MARK.slice(0, begun))) return prefix.slice(0, -begun);
    return prefix;
  }

  /** The range of a name; undefined if the name is not one of a range of this size. */
  rangeOf(name: string): NamedRange | undefined {
    const [, key = '', bytes, index] = NAME.exec(name) ?? [];
    if (index === undefined) return { key: name, start: 0 };
    const start = Number(index) * this.#bytes;
    if (Number(bytes) !== this.#bytes || !Number.isSafeInteger(start) || this.isReserved(key))
      return undefined;
    return { key, start };
  }

  /** The size of a range that begins at `start`. */
  sizeOf(start: number, objectSize: number): number {
    return Math.min(this.#bytes, objectSize - start);
  }

  /** The ranges of an object, in order. An empty object has one. */
  *rangesOf(key: string, size: number): Generator<{ readonly name: string; readonly size: number }> {
    let start = 0;
    do {
      yield { name: this.#nameOf(key, start), size: this.sizeOf(start, size) };
      start += this.#bytes;
    } while (start < size);
  }

  /** The parts of a read, in order. An empty read has one. */
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
