import type { ListOptions, ObjectStat, StorageDriver } from '../driver/driver.js';
import { ListedObjects } from '../namespace/listing.js';
import { ABSENT, type MetadataContainer } from '../namespace/metadata-container.js';
import type { VersionPolicy } from '../placement/placement.js';
import { onAbort, raceAbort, type OperationScope } from '../support/abort.js';
import type { Clock } from '../support/clock.js';
import { isTieredError, TieredError } from '../support/errors.js';
import { assertKey } from './validation.js';

/** What a listing left out for one reason, though it looks like objects. */
interface LeftOut {
  readonly reason: string;
  readonly count: number;
  /** The first of them. */
  readonly key: string;
}

/** Reasons that are counted by themselves; drivers have few. */
const MOST_REASONS = 16;

/** What a catalog works with. */
export interface CatalogParts {
  readonly source: StorageDriver;
  readonly versions: VersionPolicy;
  /** Runs the requests, and ends them when the hierarchy is closed. */
  readonly scope: OperationScope;
  readonly clock: Clock;
  /** The present namespace. Loading a manifest replaces it. */
  readonly namespace: () => MetadataContainer;
  /** Called when an object that may have a copy has changed, or is gone. */
  readonly outdated: (id: number) => void;
  /** Called at the end of a listing for each reason that something was left out for. */
  readonly leftOut: (left: LeftOut) => void;
  /** @throws TieredError if the hierarchy is not open, and the reason of a signal that has aborted. */
  readonly assertUsable: (signal: AbortSignal | undefined) => void;
}

/**
 * Brings what the source says of its objects into the namespace: one object when it is asked for, all of them
 * by a listing.
 */
export class Catalog {
  readonly #parts: CatalogParts;
  readonly #lookups = new Map<string, Promise<number>>();
  /** What complete listings that are under way have shown. */
  readonly #listings = new Set<ListedObjects>();

  constructor(parts: CatalogParts) {
    this.#parts = parts;
  }

  /**
   * Takes in what the source says of an object, as far as the policy allows. A copy of an older version is
   * not served any more.
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
    // With `ignore` the version is taken in too: reads of the source ask for it, and so notice another size.
    if (versions !== 'ignore' || !sameSize) outdated(known);
    return namespace.put(stat);
  }

  /**
   * Takes in the present size and version of an object that turned out to have changed. False if the source
   * did not say.
   */
  async renew(key: string): Promise<boolean> {
    const { scope, source } = this.#parts;
    // A failure is not reported: the error that led here says what happened. If the failure persists, the
    // next read meets it.
    const stat = await scope.attempt((signal) => source.stat(key, { signal }));
    return stat !== undefined && this.take(stat) >= 0;
  }

  /**
   * Returns the id of a key. Asks the source for an object that is not known, once for all who ask at the
   * same time.
   */
  async lookUp(key: string, signal: AbortSignal | undefined): Promise<number> {
    assertKey(key);
    const known = this.#parts.namespace().find(key);
    if (known !== ABSENT) return known;
    const id = await raceAbort(this.#lookups.get(key) ?? this.#startLookUp(key), signal);
    this.#parts.assertUsable(signal);
    return id;
  }

  /**
   * Asks the source for an object, known or not, and takes in what it says. One that is missing is gone, with
   * `pin` unless it is known.
   * @throws TieredError `TIERED_NOT_FOUND`, `TIERED_KEY_INVALID`, or what the source failed with.
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
   * Lists the source, and takes each page in, as `takeIn` does.
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
   * Takes in the pages of a listing, and gives them on. An object with its prefix that it has not shown when
   * it ends is gone: its copy is not served any more. With `pin` everything stays known, and so it does if
   * the source shows nothing at all.
   * @param list Begins a listing.
   * @param prefix Of the keys that are listed. Empty: all.
   * @param goesOn Throws when the listing is to end.
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
        // A driver may have all pages at hand.
        await clock.turn();
      }
      if (shown === 0 && prefix !== '') await this.#takeInSome(list, goesOn);
      if (versions !== 'pin') await this.#letGo(listed, prefix, goesOn);
    } finally {
      this.#listings.delete(listed);
    }
    for (const one of left.values()) this.#parts.leftOut(one);
  }

  /** Takes in the first objects of all: if there are none, it is as if nothing was mounted. */
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

  /** Forgets the objects with a prefix that a listing that has ended did not show. */
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
   * The pages of the source's listing. It may rest between two pages for as long as its reader likes. So
   * close() ends it, and waits for one page only.
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
