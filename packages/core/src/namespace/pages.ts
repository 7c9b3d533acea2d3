/** The typed array of a page. */
export type Page = Uint8Array | Uint32Array | Float64Array;

/**
 * A growing list of typed arrays of one size. Existing pages are never moved or copied to make room, so a
 * growing namespace needs the memory of its content and no more.
 *
 * Pages can be **lent** while they are being saved. To write, ask for `writable`, which replaces a lent page
 * by a copy, so that the borrower keeps the content of that moment. Appending behind the content that the
 * borrower knows needs no copy.
 */
export class Pages<T extends Page> {
  readonly #make: () => T;
  readonly #pages: T[];
  readonly #lent = new Set<T>();

  /**
   * @param make Makes an empty page.
   * @param pages Pages that are already full, as made by `make`. Taken over, not copied.
   */
  constructor(make: () => T, pages: readonly T[] = []) {
    this.#make = make;
    this.#pages = [...pages];
  }

  get length(): number {
    return this.#pages.length;
  }

  /** An existing page, for reading and appending. */
  at(index: number): T {
    return this.#pages[index] as T;
  }

  /** Adds an empty page. */
  add(): void {
    this.#pages.push(this.#make());
  }

  /** An existing page, for changing its content. */
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
   * @param make Makes an array for so many numbers.
   * @param pages The initial content of the column.
   */
  constructor(make: (length: number) => T, pages?: readonly T[]) {
    this.#pages = new Pages(() => make(PAGE_ENTRIES), pages);
  }

  /** The number of an entry that was set. */
  get(id: number): number {
    return this.#pages.at(id >>> PAGE_BITS)[id & IN_PAGE] as number;
  }

  /** Sets the number of an existing entry, or of the next one. */
  set(id: number, value: number): void {
    if (id >>> PAGE_BITS === this.#pages.length) this.#pages.add();
    this.#pages.writable(id >>> PAGE_BITS)[id & IN_PAGE] = value;
  }

  /** See `Pages.lend`. */
  lend(): readonly T[] {
    return this.#pages.lend();
  }
}
