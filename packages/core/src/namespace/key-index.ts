import { invariant } from '../errors.js';
import { ABSENT, SlotTable, type IndexedKeys } from './slot-table.js';

/** 1,024 slots, 4 KiB. */
const SMALLEST_BITS = 10;
/** So many entries move to a larger table at every 64th that is added: 16 for one, and no pause above 0.2 ms. */
const MOVED_AT_ONCE = 1024;
const MOVE_EVERY = 64;

/**
 * Finds the id of a key. Ids are added in their order, 0, 1, 2 ...
 *
 * When its table is full, one of twice the size takes its place, and the entries move over little by little while others
 * are added: moving millions at once would stop the event loop for seconds. Until all have moved, what is not in
 * the new table is looked for in the old one, which is then let go.
 */
export class KeyIndex {
  readonly #keys: IndexedKeys;
  #table: SlotTable;
  #old: SlotTable | undefined;
  #count = 0;
  #moved = 0;

  /** @param capacity So many entries it takes without growing. Default: as few as it takes anyway. */
  constructor(keys: IndexedKeys, capacity = 0) {
    this.#keys = keys;
    this.#table = new SlotTable(keys, Math.max(SMALLEST_BITS, Math.ceil(Math.log2(capacity / 0.75))));
  }

  /** The id of a key, which has this hash, or `ABSENT`. */
  find(hash: number, key: string): number {
    const id = this.#table.find(hash, key);
    return id === ABSENT && this.#old !== undefined ? this.#old.find(hash, key) : id;
  }

  /** Adds the next entry; its key must not be there. */
  add(hash: number): void {
    if (this.#count === this.#table.limit) this.#grow();
    this.#table.add(hash, this.#count);
    this.#count += 1;
    if (this.#old !== undefined && this.#count % MOVE_EVERY === 0) this.#move(this.#old);
  }

  /** Adds the next entries up to `end`, within `capacity`; false if two of all have the same key. */
  addUpTo(end: number): boolean {
    invariant(end <= this.#table.limit, 'entries are added beyond the capacity of their index');
    const distinct = this.#table.addRange(this.#count, end);
    this.#count = end;
    return distinct;
  }

  #grow(): void {
    invariant(this.#old === undefined, 'an index is to grow that has not finished growing');
    const larger = new SlotTable(this.#keys, this.#table.bits + 1);
    this.#old = this.#table;
    this.#table = larger;
    this.#moved = 0;
  }

  #move(old: SlotTable): void {
    const end = Math.min(this.#moved + MOVED_AT_ONCE, old.limit);
    this.#table.addRange(this.#moved, end);
    this.#moved = end;
    if (end === old.limit) this.#old = undefined;
  }
}
