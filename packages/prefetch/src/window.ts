import Queue from 'yocto-queue';
import type { Block } from './arena.js';
import type { Entry } from './entry.js';

/** Entries that were admitted and not taken, in the order of the sequence and by the key of their object. */
export class Window {
  readonly #entries = new Queue<Entry>();
  /** Of an object that is in it more than once, in order. */
  readonly #byKey = new Map<string, Entry[]>();
  #count = 0;
  /** Entries of it that are there, or have failed. */
  settled = 0;

  /** Entries that are being read, or there. */
  get count(): number {
    return this.#count;
  }

  add(entry: Entry): void {
    this.#count += 1;
    this.#entries.enqueue(entry);
    const same = this.#byKey.get(entry.access.key);
    if (same === undefined) this.#byKey.set(entry.access.key, [entry]);
    else same.push(entry);
  }

  /** The first that is still in it. */
  head(): Entry | undefined {
    while (this.#entries.peek()?.state === 'gone') this.#entries.dequeue();
    return this.#entries.peek();
  }

  /** The first of an object. */
  find(key: string): Entry | undefined {
    return this.#byKey.get(key)?.[0];
  }

  /** Takes out an entry that has settled, wherever it stands; its memory is the caller's to give back. */
  remove(entry: Entry): Block {
    const { key } = entry.access;
    const same = this.#byKey.get(key);
    if (same === undefined || same.length === 1) this.#byKey.delete(key);
    else same.splice(same.indexOf(entry), 1);
    this.#count -= 1;
    this.settled -= 1;
    return entry.leave();
  }

  /** From its first entry that is still in it: all of them, also those that have been taken out behind that one. */
  *entries(): IterableIterator<Entry> {
    this.head();
    yield* this.#entries;
  }
}
