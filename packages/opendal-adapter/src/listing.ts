import type { ObjectStat } from '@tiered/core';
import { kindOf } from './errors.js';
import { describe, isIdentified } from './objects.js';
import type { OpenDalEntry, OpenDalLister, OpenDalMetadata, OpenDalOperator } from './opendal.js';

/** Entries of a page. Limits memory, and how many `stat` calls start at the same time. */
const PAGE = 500;

/** An entry that is an object. */
interface Found {
  readonly key: string;
  readonly path: string;
  readonly metadata: OpenDalMetadata;
}

/**
 * A listing in pages. Depending on the service, a listing contains nothing about its objects, everything, or
 * something other than `stat` returns. So the first object is looked up both ways. If the results are the
 * same, the listing is trusted.
 */
export class Listing {
  readonly #operator: OpenDalOperator;
  readonly #lister: OpenDalLister;
  readonly #keyOf: (path: string) => string | undefined;
  #believed: boolean | undefined;

  /** @param keyOf Returns the key of a path, or undefined if the path must not be listed. */
  constructor(operator: OpenDalOperator, lister: OpenDalLister, keyOf: (path: string) => string | undefined) {
    this.#operator = operator;
    this.#lister = lister;
    this.#keyOf = keyOf;
  }

  /** The next objects, fewer than a page if some entries are not objects. Undefined at the end. */
  async nextPage(signal: AbortSignal | undefined): Promise<readonly ObjectStat[] | undefined> {
    const found: Found[] = [];
    for (let entries = 0; entries < PAGE; entries++) {
      const entry = await this.#lister.next();
      signal?.throwIfAborted();
      if (entry === null && entries === 0) return undefined;
      if (entry === null) break;
      const object = this.#objectOf(entry);
      if (object !== undefined) found.push(object);
    }
    const [first] = found;
    if (first === undefined) return [];
    this.#believed ??= await this.#tellsAsStat(first);
    signal?.throwIfAborted();
    if (this.#believed) return found.map(({ key, metadata }) => describe(key, metadata));
    const described = await Promise.all(found.map((object) => this.#stat(object)));
    return described.filter((object) => object !== undefined);
  }

  #objectOf(entry: OpenDalEntry): Found | undefined {
    const path = entry.path();
    const key = this.#keyOf(path);
    if (key === undefined) return undefined;
    const metadata = entry.metadata();
    return metadata.isDirectory() ? undefined : { key, path, metadata };
  }

  async #tellsAsStat(object: Found): Promise<boolean> {
    if (!isIdentified(object.metadata)) return false;
    const [told, found] = [describe(object.key, object.metadata), await this.#stat(object)];
    return told.version === found?.version && told.size === found.size;
  }

  /** Undefined for an object that was deleted after it was listed. */
  async #stat({ key, path }: Found): Promise<ObjectStat | undefined> {
    try {
      return describe(key, await this.#operator.stat(path));
    } catch (error) {
      if (kindOf(error) === 'NotFound') return undefined;
      throw error;
    }
  }
}
