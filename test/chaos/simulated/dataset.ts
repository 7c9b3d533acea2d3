import { someBytes } from '@tiered/core/testing';
import { CopyingDriver } from './disk.js';

/** The keys there are: one in capitals, one in a directory. */
export const KEYS = ['a', 'B', 'dir/c', 'd', 'e', 'f'] as const;
export type Key = (typeof KEYS)[number];

/** The source, and everything that it ever held: what a read may give is looked up here. */
export class Dataset {
  readonly driver = new CopyingDriver({ name: 'source' });
  /** By key, from the first on; undefined where the object was not there. */
  readonly #versions = new Map<Key, (Uint8Array | undefined)[]>();

  constructor() {
    for (const key of KEYS) this.#versions.set(key, [undefined]);
  }

  /** Number of the present version of an object. */
  present(key: Key): number {
    return this.#of(key).length - 1;
  }

  /** Content of a version; undefined if there was no object. */
  content(key: Key, version: number): Uint8Array | undefined {
    return this.#of(key)[version];
  }

  /** Bytes of the largest version of an object so far. */
  largest(key: Key): number {
    return Math.max(...this.#of(key).map((bytes) => bytes?.byteLength ?? 0));
  }

  /** Puts the objects that are there at first, by the sizes of all keys. One of no size is not there. */
  async begin(sizes: readonly number[]): Promise<void> {
    for (const [i, key] of KEYS.entries()) {
      const size = sizes[i] ?? 0;
      if (size > 0) await this.put(key, size);
    }
  }

  async put(key: Key, size: number): Promise<void> {
    const versions = this.#of(key);
    const bytes = someBytes(size, 1000 * (1 + KEYS.indexOf(key)) + versions.length);
    // In one turn, so that nobody sees the one without the other.
    versions.push(bytes);
    await this.driver.write(key, bytes, { size });
  }

  async remove(key: Key): Promise<void> {
    this.#of(key).push(undefined);
    await this.driver.delete(key, {});
  }

  #of(key: Key): (Uint8Array | undefined)[] {
    const versions = this.#versions.get(key);
    if (versions === undefined) throw new Error(`there is no key ${key}`);
    return versions;
  }
}
