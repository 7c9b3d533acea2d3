import type { Dataset, Key } from './dataset.js';

/** Which versions of each object one process may give: not older than what its hierarchy was shown. */
export class Knowledge {
  readonly #dataset: Dataset;
  readonly #pins: boolean;
  readonly #scans: boolean;
  readonly #lowest = new Map<Key, number>();
  readonly #highest = new Map<Key, number>();

  constructor(dataset: Dataset, { versions, scan }: { readonly versions: string; readonly scan: boolean }) {
    this.#dataset = dataset;
    this.#pins = versions === 'pin';
    this.#scans = scan;
  }

  /** The listing of the source begins: nothing older than this is known afterwards. */
  begin(keys: readonly Key[], scans = this.#scans): void {
    if (scans) for (const key of keys) this.lowest(key);
  }

  /** The listing has ended: what was there all the time is pinned. */
  listed(keys: readonly Key[]): void {
    if (!this.#scans || !this.#pins) return;
    for (const key of keys) if (!this.mayBeMissing(key)) this.#highest.set(key, this.#dataset.present(key));
  }

  /** What is not known yet is asked for, and becomes known, now at the earliest. */
  lowest(key: Key): number {
    const known = this.#lowest.get(key);
    if (known !== undefined) return known;
    const present = this.#dataset.present(key);
    this.#lowest.set(key, present);
    return present;
  }

  highest(key: Key): number {
    return Math.min(this.#dataset.present(key), this.#highest.get(key) ?? Infinity);
  }

  /** Whether the source had no such object at any time since it held a version. */
  mayBeMissing(key: Key, since = this.lowest(key)): boolean {
    for (let version = since; version <= this.#dataset.present(key); version++)
      if (this.#dataset.content(key, version) === undefined) return true;
    return false;
  }

  /** The source is listed anew. What is gone from it stays known. */
  relisted(key: Key, version: number): void {
    if (!this.#pins && this.#dataset.content(key, version) !== undefined) this.shown(key, version);
  }

  /** A read gave bytes of this version, or of a later one. */
  shown(key: Key, version: number): void {
    this.#lowest.set(key, Math.max(this.lowest(key), version));
  }
}
