import { ABSENT, type RecordArena } from './record-arena.js';

/**
 * The share of the slots that may be filled. Searches pass few bytes, and growing does not leave most slots
 * empty.
 */
const FILLED = 7 / 8;
/** How many hashes are computed before their slots are searched. */
const BATCH = 1024;

/** The number of bits of a table for so many records. */
export function bitsFor(records: number): number {
  return Math.ceil(Math.log2(records / FILLED));
}

/**
 * A hash table of records, with open addressing and linear probing. A slot is a byte and a reference. The
 * byte is 0 if the slot is empty, else the low bits of the key's hash. So a search scans bytes, and nearly
 * every record that it reads is the right one. It begins at the slot that the high bits of the hash name.
 */
export class SlotTable {
  readonly bits: number;
  /** How many records it takes. */
  readonly limit: number;
  readonly #records: RecordArena;
  readonly #mask: number;
  readonly #tags: Uint8Array;
  readonly #references: Uint32Array;

  /**
   * @param records The records that the references point to.
   * @param bits It has 2^bits slots; from 1 to 30.
   */
  constructor(records: RecordArena, bits: number) {
    this.bits = bits;
    this.limit = FILLED * 2 ** bits;
    this.#records = records;
    this.#mask = 2 ** bits - 1;
    this.#tags = new Uint8Array(2 ** bits);
    this.#references = new Uint32Array(2 ** bits);
  }

  /** The id of a key with this hash, or `ABSENT`. */
  find(hash: number, key: string): number {
    const wanted = tagOf(hash);
    for (let slot = this.#home(hash); ; slot = (slot + 1) & this.#mask) {
      const tag = this.#tags[slot];
      if (tag === 0) return ABSENT;
      if (tag !== wanted) continue;
      const id = this.#records.idIf(this.#references[slot] as number, key);
      if (id !== ABSENT) return id;
    }
  }

  /**
   * Adds a record. Returns false if a record with the same key exists. The caller must stay below `limit`.
   */
  add(hash: number, reference: number): boolean {
    const wanted = tagOf(hash);
    let slot = this.#home(hash);
    for (let tag = this.#tags[slot]; tag !== 0; tag = this.#tags[slot]) {
      if (tag === wanted && this.#records.sameKey(this.#references[slot] as number, reference)) return false;
      slot = (slot + 1) & this.#mask;
    }
    this.#tags[slot] = wanted;
    this.#references[slot] = reference;
    return true;
  }

  /**
   * Adds the records of all entries from `first` up to `end`; false if a record with the same key exists.
   * Three times as fast as adding them one by one: with the hashes computed beforehand, the processor waits
   * for several slots at a time.
   */
  addRange(first: number, end: number, referenceOf: (id: number) => number): boolean {
    const hashes = new Int32Array(Math.min(BATCH, end - first));
    for (let start = first; start < end; start += BATCH) {
      const size = Math.min(BATCH, end - start);
      for (let i = 0; i < size; i++) hashes[i] = this.#records.hashAt(referenceOf(start + i));
      for (let i = 0; i < size; i++) if (!this.add(hashes[i] as number, referenceOf(start + i))) return false;
    }
    return true;
  }

  #home(hash: number): number {
    return hash >>> (32 - this.bits);
  }
}

function tagOf(hash: number): number {
  return hash & 0xff || 1;
}
