import Denque from 'denque';
import { identityOf, type SampleRequest } from '../request.js';
import type { Access } from '../sequence/access-sequence.js';
import type { Block } from './arena.js';
import type { Entry } from './entry.js';

/** A place in the order of the sequence: an entry, or a request that needs none any more. */
type Placed = Entry | { readonly state: 'gone'; readonly request: SampleRequest };

/** Entries that were admitted and not taken, in the order of the sequence and by identity. */
export class Window {
  /** Not a linked list: its removed nodes would keep those behind them from the garbage collector. */
  readonly #entries = new Denque<Placed>();
  /** Entries by identity. Those of the same identity are in order. */
  readonly #byIdentity = new Map<string | SampleRequest, Entry[]>();
  #count = 0;
  /** Entries that are ready or have failed. */
  settled = 0;

  /** Entries that are being read, are ready or have failed. */
  get count(): number {
    return this.#count;
  }

  add(entry: Entry): void {
    this.#count += 1;
    this.#entries.push(entry);
    const identity = identityOf(entry.request);
    const same = this.#byIdentity.get(identity);
    if (same === undefined) this.#byIdentity.set(identity, [entry]);
    else same.push(entry);
  }

  /**
   * Notes that a request was taken before it was admitted. Its place is kept as long as there are entries
   * before it.
   */
  pass(request: SampleRequest): void {
    this.#entries.push({ state: 'gone', request });
  }

  /** The first entry that is still in the window. */
  head(): Entry | undefined {
    for (;;) {
      const first = this.#entries.peekFront();
      if (first?.state !== 'gone') return first;
      this.#entries.shift();
    }
  }

  /** The first entry of an object, or of a request, that is not held for another consumer. */
  find(identity: string | SampleRequest): Entry | undefined {
    return this.#byIdentity.get(identity)?.find(({ isHeld }) => !isHeld);
  }

  /** Removes an entry that has settled, at any position. The caller frees its memory. */
  remove(entry: Entry): Block {
    const identity = identityOf(entry.request);
    const same = this.#byIdentity.get(identity);
    if (same === undefined || same.length === 1) this.#byIdentity.delete(identity);
    else same.splice(same.indexOf(entry), 1);
    this.#count -= 1;
    this.settled -= 1;
    return entry.leave();
  }

  /** The entries that are still in the window. */
  *entries(): IterableIterator<Entry> {
    for (const entry of this.#entries.toArray()) if (entry.state !== 'gone') yield entry;
  }

  /** Accesses after the first remaining entry that are no longer in the window themselves. */
  gone(): Access[] {
    this.head();
    return this.#entries
      .toArray()
      .filter(({ state }) => state === 'gone')
      .map(({ request }) => request);
  }
}
