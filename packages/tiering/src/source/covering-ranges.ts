import { OrderedMap } from '@js-sdsl/ordered-map';

/** Some bytes of an object. */
export interface Span {
  readonly offset: number;
  readonly length: number;
}

interface Entry<R> {
  readonly range: R;
  /** The ranges that were covered by this one when it came, or when what covered them went. */
  readonly hidden: Entry<R>[];
}

/**
 * Ranges of one object, among which one is found that covers another one, in O(log n).
 *
 * Those that no other covers are *visible*. Sorted by where they begin, they are sorted by where they end as
 * well: so of those that begin early enough the last one reaches furthest, and no other needs to be looked
 * at. A range that a later one covers is hidden behind it, and comes back when that one is removed.
 */
export class CoveringRanges<R extends Span> {
  readonly #entries = new Map<R, Entry<R>>();
  readonly #visible = new OrderedMap<number, Entry<R>>();

  /** Whether there are none. */
  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  /** A range that has all of these bytes; undefined if none has. */
  find(span: Span): R | undefined {
    return this.#over(span)?.range;
  }

  add(range: R): void {
    const entry = { range, hidden: [] };
    this.#entries.set(range, entry);
    this.#place(entry);
  }

  /** False if it is not there. */
  remove(range: R): boolean {
    const entry = this.#entries.get(range);
    if (entry === undefined) return false;
    this.#entries.delete(range);
    const { offset } = range;
    if (this.#visible.getElementByKey(offset) === entry) this.#visible.eraseElementByKey(offset);
    for (const other of entry.hidden) if (this.#entries.has(other.range)) this.#place(other);
    return true;
  }

  #over(span: Span): Entry<R> | undefined {
    const last = this.#visible.reverseLowerBound(span.offset);
    if (!last.isAccessible()) return undefined;
    const [, entry] = last.pointer;
    return endOf(entry.range) >= endOf(span) ? entry : undefined;
  }

  #place(entry: Entry<R>): void {
    const { range } = entry;
    const over = this.#over(range);
    if (over !== undefined) {
      over.hidden.push(entry);
      return;
    }
    for (;;) {
      const next = this.#visible.lowerBound(range.offset);
      if (!next.isAccessible() || endOf(next.pointer[1].range) > endOf(range)) break;
      entry.hidden.push(next.pointer[1]);
      this.#visible.eraseElementByIterator(next);
    }
    this.#visible.setElement(range.offset, entry);
  }
}

function endOf({ offset, length }: Span): number {
  return offset + length;
}
