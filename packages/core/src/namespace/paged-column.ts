import { Pages, type Page } from './pages.js';

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
