/** What a page is made of. */
export type Page = Uint8Array | Uint32Array | Float64Array;

/**
 * A list of typed arrays of one size, to which pages are added. Existing pages are never moved or copied to
 * make room, so a growing namespace needs the memory of its content and no more.
 *
 * Pages can be **lent** for as long as saving them takes. To write, ask for `writable`, which replaces a lent
 * page by a copy, so the borrower keeps what was there at that moment. Appending behind what the borrower
 * knows of needs no copy.
 */
export class Pages<T extends Page> {
  readonly #make: () => T;
  readonly #pages: T[];
  readonly #lent = new Set<T>();

  /**
   * @param make Gives an empty page.
   * @param pages Pages that are full already, as `make` gives them. Taken, not copied.
   */
  constructor(make: () => T, pages: readonly T[] = []) {
    this.#make = make;
    this.#pages = [...pages];
  }

  get length(): number {
    return this.#pages.length;
  }

  /** A page that is there; for reading, and for appending. */
  at(index: number): T {
    return this.#pages[index] as T;
  }

  /** Adds an empty page. */
  add(): void {
    this.#pages.push(this.#make());
  }

  /** A page that is there, for changing what it holds. */
  writable(index: number): T {
    const page = this.at(index);
    if (!this.#lent.delete(page)) return page;
    const copy = this.#make();
    copy.set(page);
    this.#pages[index] = copy;
    return copy;
  }

  /** All pages as they are now. Costs nothing until one of them is changed. */
  lend(): readonly T[] {
    for (const page of this.#pages) this.#lent.add(page);
    return [...this.#pages];
  }
}
