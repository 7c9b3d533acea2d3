import { copyName } from './copy-name.js';

/** Ids of a page: 64 Ki tags are 512 KiB. */
const PAGE_BITS = 16;
const PAGE_ENTRIES = 2 ** PAGE_BITS;
/** Names kept as strings, so that a small dataset does not make them anew for each read. */
const KEPT = 8192;
const NO_TAG = -1;

/** What copies are called on their tiers: 8 bytes an object, in place of a string each. */
export class CopyNames {
  readonly #pages = new Map<number, Float64Array>();
  readonly #kept = new Map<number, string>();

  /** The copy of an object is called by its key and this tag; by its key alone if there is none. */
  set(id: number, tag: number | undefined): void {
    this.#kept.delete(id);
    let page = this.#pages.get(id >>> PAGE_BITS);
    if (page === undefined) {
      if (tag === undefined) return;
      this.#pages.set(id >>> PAGE_BITS, (page = new Float64Array(PAGE_ENTRIES).fill(NO_TAG)));
    }
    page[id & (PAGE_ENTRIES - 1)] = tag ?? NO_TAG;
  }

  /** The name of an object's copy. */
  of(id: number, key: string): string {
    if (this.#pages.size === 0) return key;
    const known = this.#kept.get(id);
    if (known !== undefined) return known;
    const tag = this.#pages.get(id >>> PAGE_BITS)?.[id & (PAGE_ENTRIES - 1)] ?? NO_TAG;
    if (tag === NO_TAG) return key;
    if (this.#kept.size >= KEPT) this.#kept.clear();
    const name = copyName(key, tag);
    this.#kept.set(id, name);
    return name;
  }
}
