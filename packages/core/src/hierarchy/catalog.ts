import type { ListOptions, ObjectStat, StorageDriver } from '../driver/driver.js';
import { ListedObjects } from '../namespace/listing.js';
import { ABSENT, type MetadataContainer } from '../namespace/metadata-container.js';
import type { VersionPolicy } from '../placement/placement.js';
import { onAbort, raceAbort, type OperationScope } from '../support/abort.js';
import type { Clock } from '../support/clock.js';
import { isTieredError, TieredError } from '../support/errors.js';
import { assertKey } from './validation.js';

/** The entries that a listing left out for one reason, although they look like objects. */
interface LeftOut {
  readonly reason: string;
  readonly count: number;
  /** The first of them. */
  readonly key: string;
}

/** Reasons that are counted separately. Drivers have few of them. */
const MOST_REASONS = 16;

/** The dependencies of a catalog. */
export interface CatalogParts {
  readonly source: StorageDriver;
  readonly versions: VersionPolicy;
  /** Runs the requests, and aborts them when the hierarchy is closed. */
  readonly scope: OperationScope;
  readonly clock: Clock;
  /** The current namespace. Loading a manifest replaces it. */
  readonly namespace: () => MetadataContainer;
  /** Called when an object that may have a copy has changed or was deleted. */
  readonly outdated: (id: number) => void;
  /** Called at the end of a listing, once for each reason for which entries were left out. */
  readonly leftOut: (left: LeftOut) => void;
  /** @throws TieredError if the hierarchy is not open, and the reason of a signal that has aborted. */
  readonly assertUsable: (signal: AbortSignal | undefined) => void;
}

/** Updates the namespace from the source: one object on request, all of them by a listing. */
export class Catalog {
  readonly #parts: CatalogParts;
  readonly #lookups = new Map<string, Promise<number>>();
  /** The objects that complete listings in progress have shown. */
  readonly #listings = new Set<ListedObjects>();

  constructor(parts: CatalogParts) {
    this.#parts = parts;
  }

  /**
   * Updates an object from the source's description, if the policy allows it. A copy of an older version is
   * no longer served.
   */
  take(stat: ObjectStat): number {
    const id = this.#takeIn(stat);
    for (const listing of this.#listings) listing.see(id);
    return id;
  }

  #takeIn(stat: ObjectStat): number {
    const { versions, outdated } = this.#parts;
    const namespace = this.#parts.namespace();
    const known = namespace.find(stat.key);
    if (known === ABSENT) return namespace.put(stat);
    const sameSize = namespace.sizeOf(known) === stat.size;
    const same = sameSize && namespace.versionOf(known) === stat.version;
    if (same || versions === 'pin') return known;
    // With `ignore` the version is updated too, because reads of the source ask for it and thus notice
    // another size.
    if (versions !== 'ignore' || !sameSize) outdated(known);
    return namespace.put(stat);
  }

  /**
   * Updates size and version of an object that turned out to have changed. Returns false if the source did
   * not answer.
   */
  async renew(key: string): Promise<boolean> {
    const { scope, source } = this.#parts;
    // A failure is not reported: the error that led here says what happened. If the failure persists, the
    // next read meets it.
    const stat = await scope.attempt((signal) => source.stat(key, { signal }));
    return stat !== undefined && this.take(stat) >= 0;
  }

  /** Returns the id of a key. Asks the source for an unknown object, once for all concurrent callers. */
  async lookUp(key: string, signal: AbortSignal | undefined): Promise<number> {
    assertKey(key);
    const known = this.#parts.namespace().find(key);
    if (known !== ABSENT) return known;
    const id = await raceAbort(this.#lookups.get(key) ?? this.#startLookUp(key), signal);
    this.#parts.assertUsable(signal);
    return id;
  }

  /**
   * Asks the source for an object, known or not, and updates it from the answer. A missing object is removed
   * from the namespace, except that `pin` keeps a known one.
   * @throws TieredError `TIERED_NOT_FOUND`, `TIERED_KEY_INVALID`, or the error of the source.
   */
  async revalidate(
    key: string,
    signal: AbortSignal | undefined,
  ): Promise<ObjectStat & { readonly level: number }> {
    assertKey(key);
    const { scope, source, versions, namespace } = this.#parts;
    try {
      const stat = await scope.run(signal, (under) => source.stat(key, { signal: under }));
      return namespace().describe(this.take(stat));
    } catch (error) {
      const known = isTieredError(error, 'TIERED_NOT_FOUND') ? namespace().find(key) : ABSENT;
      if (known === ABSENT) throw error;
      if (versions === 'pin') return namespace().describe(known);
      this.#forget(known);
      throw error;
    }
  }

  /**
   * Lists the source, and updates the namespace from each page, as `takeIn` does.
   * @throws TieredError `TIERED_UNSUPPORTED` if the source cannot list.
   */
  async *list({ prefix = '', signal }: ListOptions): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    const { source, assertUsable } = this.#parts;
    if (!source.capabilities.list) {
      const message = `${source.name} cannot list, and the namespace is not complete; take the keys from elsewhere.`;
      throw new TieredError('TIERED_UNSUPPORTED', message);
    }
    const pages = (options: ListOptions) => this.#pages({ signal, ...options });
    yield* this.takeIn(pages, prefix, () => assertUsable(signal));
  }

  /**
   * Updates the namespace from the pages of a listing, and passes them on. An object with the prefix that the
   * listing has not shown by its end is removed: its copy is no longer served. With `pin`, or if the source
   * shows nothing at all, everything stays known.
   * @param list Begins a listing.
   * @param prefix Prefix of the listed keys. Empty: all.
   * @param goesOn Throws when the listing must end.
   */
  async *takeIn(
    list: (options: ListOptions) => AsyncIterable<readonly ObjectStat[]>,
    prefix: string,
    goesOn: () => void,
  ): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    const { namespace, clock, versions } = this.#parts;
    const listed = new ListedObjects(namespace());
    let shown = 0;
    const left = new Map<string, LeftOut>();
    this.#listings.add(listed);
    try {
      const leftOut = (key: string, reason: string) => {
        const { count, key: first } = left.get(reason) ?? { count: 0, key };
        if (count > 0 || left.size < MOST_REASONS) left.set(reason, { reason, count: count + 1, key: first });
      };
      for await (const page of list({ prefix, leftOut })) {
        goesOn();
        shown += page.length;
        for (const object of page) this.take(object);
        yield page;
        // A driver may have all pages in memory.
        await clock.turn();
      }
      if (shown === 0 && prefix !== '') await this.#takeInSome(list, goesOn);
      if (versions !== 'pin') await this.#letGo(listed, prefix, goesOn);
    } finally {
      this.#listings.delete(listed);
    }
    for (const one of left.values()) this.#parts.leftOut(one);
  }

  /**
   * Takes in the first objects of a listing without a prefix. If there are none, the source counts as
   * unmounted.
   */
  async #takeInSome(
    list: (options: ListOptions) => AsyncIterable<readonly ObjectStat[]>,
    goesOn: () => void,
  ): Promise<void> {
    for await (const page of list({})) {
      goesOn();
      for (const object of page) this.take(object);
      if (page.length > 0) return;
    }
  }

  /** Removes the objects with a prefix that a finished listing did not show. */
  async #letGo(listed: ListedObjects, prefix: string, goesOn: () => void): Promise<void> {
    const { namespace, clock } = this.#parts;
    for (const gone of listed.gone()) {
      for (const id of gone) if (namespace().keyOf(id).startsWith(prefix)) this.#forget(id);
      await clock.turn();
      goesOn();
    }
  }

  #forget(id: number): void {
    this.#parts.outdated(id);
    this.#parts.namespace().remove(id);
  }

  /**
   * The pages of the source's listing. The reader may pause between two pages for any time, so close() ends
   * the listing, and waits for one page only.
   */
  async *#pages({ signal, ...options }: ListOptions): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    const { source, scope, assertUsable } = this.#parts;
    const end = new AbortController();
    const pages = source.list({ ...options, signal: end.signal })[Symbol.asyncIterator]();
    const nextPage = async (under: AbortSignal) => {
      const stopListening = onAbort(under, (reason) => end.abort(reason));
      return pages.next().finally(stopListening);
    };
    try {
      for (;;) {
        assertUsable(signal);
        const page = await scope.run(signal, nextPage);
        if (page.done === true) return;
        yield page.value;
      }
    } finally {
      await pages.return?.();
    }
  }

  #startLookUp(key: string): Promise<number> {
    const { scope, source } = this.#parts;
    const lookup = scope
      .run(undefined, (signal) => source.stat(key, { signal }))
      .then((stat) => this.take(stat))
      .finally(() => this.#lookups.delete(key));
    this.#lookups.set(key, lookup);
    return lookup;
  }
}
