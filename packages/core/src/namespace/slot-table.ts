/** What a search answers for a key that is not there. */
export const ABSENT = -1;

/** The keys that a table is of, by id. */
export interface IndexedKeys {
  hashOf(id: number): number;
  hasKey(id: number, key: string): boolean;
  sameKey(id: number, other: number): boolean;
}

/** How many hashes are made before their slots are looked for. */
const BATCH = 1024;

/**
 * A hash table of ids, of 2^bits slots, with open addressing and linear probing. A slot is one 32-bit word: 0 if it is
 * empty, else id + 1 in its low `bits`, and above them as many low bits of the key's hash as there is room for. The
 * search begins at the slot that the high bits of the hash name; so all 32 bits count, and nearly always the one key
 * that is looked at is the right one.
 */
export class SlotTable {
  readonly bits: number;
  /** How many entries it takes: three quarters of its slots, so that searches for what is not there stay short. */
  readonly limit: number;
  readonly #keys: IndexedKeys;
  readonly #mask: number;
  readonly #slots: Int32Array;

  /** @param bits From 1 to 30. */
  constructor(keys: IndexedKeys, bits: number) {
    this.bits = bits;
    this.limit = 0.75 * 2 ** bits;
    this.#keys = keys;
    this.#mask = 2 ** bits - 1;
    this.#slots = new Int32Array(2 ** bits);
  }

  /** The id of a key, which has this hash, or `ABSENT`. */
  find(hash: number, key: string): number {
    const slots = this.#slots;
    const mask = this.#mask;
    const tag = hash << this.bits;
    for (let slot = hash >>> (32 - this.bits); ; slot = (slot + 1) & mask) {
      const word = slots[slot] as number;
      if (word === 0) return ABSENT;
      const id = (word & mask) - 1;
      if (((word ^ tag) & ~mask) === 0 && this.#keys.hasKey(id, key)) return id;
    }
  }

  /** Adds an entry, unless its key is there: then it returns false. To stay below `limit` is the caller's part. */
  add(hash: number, id: number): boolean {
    const slots = this.#slots;
    const mask = this.#mask;
    const tag = hash << this.bits;
    let slot = hash >>> (32 - this.bits);
    for (let word = slots[slot] as number; word !== 0; word = slots[slot] as number) {
      if (((word ^ tag) & ~mask) === 0 && this.#keys.sameKey(id, (word & mask) - 1)) return false;
      slot = (slot + 1) & mask;
    }
    slots[slot] = tag | (id + 1);
    return true;
  }

  /**
   * Adds all entries from `first` up to `end`; false if the key of one was there. Three times as fast as one after the
   * other: with the hashes made beforehand, the processor waits for the memory of several slots at a time.
   */
  addRange(first: number, end: number): boolean {
    const hashes = new Int32Array(Math.min(BATCH, end - first));
    for (let start = first; start < end; start += BATCH) {
      const size = Math.min(BATCH, end - start);
      for (let i = 0; i < size; i++) hashes[i] = this.#keys.hashOf(start + i);
      for (let i = 0; i < size; i++) if (!this.add(hashes[i] as number, start + i)) return false;
    }
    return true;
  }
}
