import { OrderedMap } from '@js-sdsl/ordered-map';

/** Some bytes of an object. */
export interface Span {
  readonly offset: number;
  readonly length: number;
}

interface Entry<R> {
  readonly range: R;
  /** The ranges covered by this one when it was added, or when their earlier cover was removed. */
  readonly hidden: Entry<R>[];
}

/**
 * Ranges of one object. Finds one that covers a given range in O(log n).
 *
 * A range is *visible* if no other covers it. Visible ranges sorted by start are also sorted by end. So among
 * the ranges that begin early enough, the last one reaches furthest, and no other needs a look. A range that
 * a later one covers is hidden behind it, and reappears when that one is removed.
 */
export class CoveringRanges<R extends Span> {
  readonly #entries = new Map<R, Entry<R>>();
  readonly #visible = new OrderedMap<number, Entry<R>>();

  /** Whether there are none. */
  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  /** A range that covers all of these bytes; undefined if there is none. */
  find(span: Span): R | undefined {
    return this.#over(span)?.range;
  }

  add(range: R): void {
    const entry = { range, hidden: [] };
    this.#entries.set(range, entry);
    this.#place(entry);
  }

  /** Returns false if the range is not there. */
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
