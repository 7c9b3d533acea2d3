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

/**
 * Entries of a page, as a power of two: 64 Ki, so that a small namespace stays small and a large one has few
 * pages.
 */
const PAGE_BITS = 16;
export const PAGE_ENTRIES = 2 ** PAGE_BITS;
const IN_PAGE = PAGE_ENTRIES - 1;

/** One number of every entry, by id. */
export class PagedColumn<T extends Page> {
  readonly #pages: Pages<T>;

  /**
   * @param make Gives an array for so many numbers.
   * @param pages What the column holds at first.
   */
  constructor(make: (length: number) => T, pages?: readonly T[]) {
    this.#pages = new Pages(() => make(PAGE_ENTRIES), pages);
  }

  /** The number of an entry that was set. */
  get(id: number): number {
    return this.#pages.at(id >>> PAGE_BITS)[id & IN_PAGE] as number;
  }

  /** Sets the number of an entry that has one, or of the next one. */
  set(id: number, value: number): void {
    if (id >>> PAGE_BITS === this.#pages.length) this.#pages.add();
    this.#pages.writable(id >>> PAGE_BITS)[id & IN_PAGE] = value;
  }

  /** See `Pages.lend`. */
  lend(): readonly T[] {
    return this.#pages.lend();
  }
}
