import type { RangeReads, Range } from '../source/range-reads.js';
import type { Reading } from './served-reads.js';
import type { Origin } from './origin.js';

const NOTHING = Promise.resolve();

/** A range that comes from the source, of an object that is not being placed. */
export class SourceOrigin implements Origin {
  readonly #ranges: RangeReads;
  readonly #range: Range;

  constructor(ranges: RangeReads, range: Range) {
    this.#ranges = ranges;
    this.#range = range;
  }

  read(reading: Reading): Promise<Uint8Array> {
    this.#count(reading);
    return this.#ranges.read(this.#range, reading.signal);
  }

  readInto(target: Uint8Array, reading: Reading): Promise<void> {
    if (target.byteLength === 0) return NOTHING;
    this.#count(reading);
    return this.#ranges.readInto(this.#range, target, reading.signal);
  }

  /** Reads pieces of the range in one request. */
  readPieces(target: Uint8Array, pieces: Float64Array, reading: Reading): Promise<void> {
    reading.by.own = true;
    return this.#ranges.readPieces(this.#range, target, pieces, reading.signal);
  }

  /** Counts the request, which this reader makes itself or shares with another. */
  #count({ by }: Reading): void {
    by[this.#ranges.covers(this.#range) ? 'joined' : 'own'] = true;
  }
}
