import { invariant } from '../support/errors.js';
import { ABSENT, type RecordArena } from './record-arena.js';
import { bitsFor, SlotTable } from './slot-table.js';

/** 1,024 slots, 5 KiB. */
const SMALLEST_BITS = 10;
/**
 * Records that move to a larger table at every 64th addition: 16 per added record, without a pause above 0.2
 * ms.
 */
const MOVED_AT_ONCE = 1024;
const MOVE_EVERY = 64;

/**
 * Finds the id of a key through its record. Records are added in the order of their ids. A record that moves
 * later, because its version became longer, need not be moved here: the old record has the same key and id.
 *
 * A full table is replaced by one of twice the size. The records move over gradually as others are added,
 * because moving millions at once would block the event loop for seconds. Until all have moved, a key that is
 * not in the new table is looked up in the old one. Then the old table is released.
 */
export class KeyIndex {
  readonly #records: RecordArena;
  readonly #referenceOf: (id: number) => number;
  #table: SlotTable;
  #old: SlotTable | undefined;
  #count = 0;
  #moved = 0;

  /**
   * @param records The records that the references point to.
   * @param referenceOf Returns the current record of an entry that was added.
   * @param capacity Entries that it takes without growing. Default: those of the smallest table.
   */
  constructor(records: RecordArena, referenceOf: (id: number) => number, capacity = 0) {
    this.#records = records;
    this.#referenceOf = referenceOf;
    this.#table = new SlotTable(records, Math.max(SMALLEST_BITS, bitsFor(capacity)));
  }

  /** The id of a key with this hash, or `ABSENT`. */
  find(hash: number, key: string): number {
    const id = this.#table.find(hash, key);
    return id === ABSENT && this.#old !== undefined ? this.#old.find(hash, key) : id;
  }

  /** Adds the record of the next entry. Its key must be new. */
  add(hash: number, reference: number): void {
    if (this.#count === this.#table.limit) this.#grow();
    this.#table.add(hash, reference);
    this.#count += 1;
    if (this.#old !== undefined && this.#count % MOVE_EVERY === 0) this.#moveSome(this.#old);
  }

  /**
   * Adds the records of the next entries up to `end`, within `capacity`; false if two records have the same
   * key.
   */
  addUpTo(end: number): boolean {
    invariant(end <= this.#table.limit, 'entries are added beyond the capacity of their index');
    const distinct = this.#table.addRange(this.#count, end, this.#referenceOf);
    this.#count = end;
    return distinct;
  }

  #grow(): void {
    invariant(this.#old === undefined, 'an index is to grow that has not finished growing');
    const larger = new SlotTable(this.#records, this.#table.bits + 1);
    this.#old = this.#table;
    this.#table = larger;
    this.#moved = 0;
  }

  #moveSome(old: SlotTable): void {
    const end = Math.min(this.#moved + MOVED_AT_ONCE, old.limit);
    this.#table.addRange(this.#moved, end, this.#referenceOf);
    this.#moved = end;
    if (end === old.limit) this.#old = undefined;
  }
}
