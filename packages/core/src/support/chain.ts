/** A value in a chain. */
export interface Link<T> {
  readonly value: T;
  before: Link<T> | undefined;
  after: Link<T> | undefined;
  isIn: boolean;
}

/**
 * Values in insertion order. Each can be removed at any time. It is for short-lived values, which would live
 * long in a Set; see `BriefMap`.
 */
export class Chain<T> {
  #first: Link<T> | undefined;
  #last: Link<T> | undefined;
  #size = 0;

  /** The oldest value in the chain. */
  get first(): Link<T> | undefined {
    return this.#first;
  }

  get size(): number {
    return this.#size;
  }

  /** Adds a value at the end. */
  add(value: T): Link<T> {
    const link: Link<T> = { value, before: this.#last, after: undefined, isIn: true };
    if (this.#last === undefined) this.#first = link;
    else this.#last.after = link;
    this.#last = link;
    this.#size += 1;
    return link;
  }

  /** Nothing may be removed during the iteration. */
  *[Symbol.iterator](): Generator<T, void, undefined> {
    for (let link = this.#first; link !== undefined; link = link.after) yield link.value;
  }

  /** Removes a value that was added to this chain. Returns false if it was already removed. */
  remove(link: Link<T>): boolean {
    if (!link.isIn) return false;
    const { before, after } = link;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    // Otherwise a link in the old generation would keep all later links alive.
    link.before = link.after = undefined;
    link.isIn = false;
    this.#size -= 1;
    return true;
  }
}
