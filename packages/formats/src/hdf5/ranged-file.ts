import { isTieredError, type TieredError } from '@tiered/core';
import { damaged, type ObjectReader } from '../contract/format.js';
import type { FileBytes } from './library.js';
import { Ranges } from './ranges.js';

/** Where bytes lie in a file. */
export interface Place {
  readonly position: number;
  readonly length: number;
}

/** What is read at least: what HDF5 says of a file lies close together. */
const PIECE = 64 * 1024;
/** Pieces that are kept, since HDF5 keeps what it has parsed itself. */
const PIECES = 32;
const PIECE_BYTES = 4 * 1024 * 1024;

/** How HDF5 marks what it says of a file. Values have no mark, and other marks begin like none of these. */
const MARKS = new Set(
  'TREE SNOD HEAP GCOL FRHP FHDB FHIB BTHD BTIN BTLF OHDR OCHK FAHD FADB EAHD EAIB EASB EADB SMTB SMLI FSHD FSSE'.split(
    ' ',
  ),
);
const MARK = 4;

/**
 * An object of a source as a file that HDF5 reads while it is far away. A read of bytes that are not there
 * fails; they are fetched, and read again. The file's description of itself is kept, to decode without the
 * rest; values are not, so that their places are found without reading them.
 */
export class RangedFile implements FileBytes {
  readonly kept = new Ranges();
  readonly #object: ObjectReader;
  readonly #signal: AbortSignal | undefined;
  readonly #most: number;
  #pieces: (readonly [start: number, bytes: Uint8Array])[] = [];
  #missing: Place | undefined;
  /** Whether values are looked for. */
  #mode: 'keep' | 'find' | 'follow' = 'keep';
  #found: Place[] = [];
  /** What is no value although it has no mark. */
  readonly #unmarked = new Set<number>();

  /** @param most Bytes that are kept at most. */
  constructor(object: ObjectReader, signal: AbortSignal | undefined, most: number) {
    this.#object = object;
    this.#signal = signal;
    this.#most = most;
  }

  get size(): number {
    return this.#object.size;
  }

  /** Makes a call of HDF5 until all is there that it needs. Keeps whatever it reads. */
  keeping<T>(call: () => T): Promise<T | TieredError> {
    return this.#retried('keep', call);
  }

  /** The first values that a call would read. Undefined if it needs none. */
  async find(call: () => unknown): Promise<Place | TieredError | undefined> {
    const result = await this.#retried('find', call);
    return this.#found[0] ?? (isTieredError(result) ? result : undefined);
  }

  /** All that a call reads and that has no mark: the last is a value, what is before leads there. */
  async follow(call: () => unknown): Promise<readonly Place[] | TieredError> {
    const result = await this.#retried('follow', call);
    return isTieredError(result) ? result : this.#found;
  }

  /** Says that what is there leads to values, and keeps it: HDF5 may have parsed it already. */
  async isNoValue(place: Place): Promise<void> {
    const { position, length } = place;
    this.#unmarked.add(position);
    if (this.#there(position, length) === undefined) await this.#fetch(place);
    const bytes = this.#there(position, length);
    if (bytes !== undefined) this.kept.add(position, bytes);
  }

  read(position: number, target: Uint8Array): boolean {
    if (target.byteLength === 0 || this.kept.fill(position, target) === target.byteLength) return true;
    const length = target.byteLength;
    const start = this.#there(position, Math.min(MARK, length));
    if (start === undefined) return this.#misses({ position, length: Math.min(MARK, length) });
    const isMarked = MARKS.has(Buffer.from(start).toString('latin1')) || this.#unmarked.has(position);
    const isValue = this.#mode !== 'keep' && !isMarked;
    if (isValue && this.#mode === 'find') {
      this.#found.push({ position, length });
      return false;
    }
    const bytes = this.#there(position, length);
    if (bytes === undefined) return this.#misses({ position, length });
    target.set(bytes);
    if (isValue) this.#follows({ position, length });
    else this.kept.add(position, bytes);
    return true;
  }

  #follows(place: Place): void {
    if (!this.#found.some(({ position }) => position === place.position)) this.#found.push(place);
  }

  #misses(place: Place): false {
    this.#missing ??= place;
    return false;
  }

  #there(position: number, length: number): Uint8Array | undefined {
    for (const [start, bytes] of this.#pieces) {
      const at = position - start;
      if (at >= 0 && at + length <= bytes.byteLength) return bytes.subarray(at, at + length);
    }
    return undefined;
  }

  async #retried<T>(mode: 'keep' | 'find' | 'follow', call: () => T): Promise<T | TieredError> {
    // HDF5 does not read again what it has parsed, so that the places of all tries count.
    this.#found = [];
    for (;;) {
      this.#missing = undefined;
      this.#mode = mode;
      const result = call();
      // As no call waits, nothing else came in between.
      const missing = this.#missing as Place | undefined;
      if (missing === undefined) return result;
      const { position, length } = missing;
      const at = { key: this.#object.key, offset: position };
      if (this.kept.bytes > this.#most || length > this.#most) return tooMuch(at, this.#most);
      await this.#fetch(missing);
      if (this.#there(position, length) === undefined)
        return damaged(at, 'it has become shorter', 'Index the source again.');
    }
  }

  async #fetch({ position, length }: Place): Promise<void> {
    this.#signal?.throwIfAborted();
    const start = Math.floor(position / PIECE) * PIECE;
    const end = Math.min(this.size, Math.ceil((position + length) / PIECE) * PIECE);
    const bytes = await this.#object.read(start, end - start);
    // Memory of others may be used again.
    this.#pieces.unshift([start, bytes.slice()]);
    let sum = 0;
    this.#pieces = this.#pieces.filter(
      ([, piece], i) => i === 0 || ((sum += piece.byteLength) <= PIECE_BYTES && i < PIECES),
    );
  }
}

function tooMuch(at: { key: string; offset: number }, most: number): TieredError {
  return damaged(at, `what leads to its values has more than ${most} bytes`, 'Raise maxBytes.');
}
