import { ABSENT, raceAbort } from '@tiered/core/internal';
import { PLAIN } from '../protocol/found-object.js';
import { lengthOf } from '../protocol/ranges.js';
import { byteString, takePage, textOfByteString, type Page, type PageOptions } from '../reads/page.js';
import type { OpenObject, OpenOptions, ReadStorage, StatOptions } from '../reads/read-storage.js';
import { noListing, notCached, saysNotFound, storageError } from './errors.js';
import { etagOf, modifiedIn } from './facts.js';
import { nameOfLevel } from './levels.js';
import { ObjectReading } from './object-reading.js';
import type { HierarchyObject, StorageParts } from './parts.js';
import { SortedIds } from './sorted-ids.js';

/** A bucket that is a hierarchy. */
export class HierarchyStorage implements ReadStorage<HierarchyObject> {
  readonly #parts: StorageParts;
  readonly #ids: SortedIds;

  constructor(parts: StorageParts) {
    this.#parts = parts;
    const { hierarchy, clock, closing } = parts;
    this.#ids = new SortedIds(hierarchy.namespace, clock, () => closing.throwIfAborted());
  }

  /**
   * Sorts all keys the first time, and again after new objects have become known. For the first page, costs a
   * listing by the source where keys change.
   */
  async list(options: PageOptions, signal: AbortSignal): Promise<Page> {
    const { hierarchy, prefix } = this.#parts;
    if (!hierarchy.isScanned) throw noListing();
    if (options.isContinued !== true) await this.#relist(textOfByteString(options.prefix), signal);
    const ids = await raceAbort(this.#ids.all(), signal);
    const before = byteString(prefix);
    const { namespace, source } = hierarchy;
    const idAt = (index: number) => ids[index] ?? 0;
    return takePage(
      {
        count: ids.length,
        keyAt: (index) => before + this.#ids.keyOf(idAt(index)),
        objectAt: (index) => {
          if (!namespace.isKnown(idAt(index))) return undefined;
          const { key, size, version } = namespace.objectOf(idAt(index));
          const lastModified = modifiedIn(version, source.location);
          return { key: prefix + key, size, etag: etagOf(version), lastModified };
        },
      },
      options,
    );
  }

  /** Lists a prefix in the source again and updates the hierarchy, if keys change there. */
  async #relist(asked: string, signal: AbortSignal): Promise<void> {
    const { changing, prefix } = this.#parts;
    const inner = asked.startsWith(prefix) ? asked.slice(prefix.length) : '';
    if (changing === undefined || !(prefix + inner).startsWith(asked)) return;
    await changing.list(inner, signal).catch((error: unknown) => {
      throw signal.aborted ? error : storageError(error);
    });
  }

  /** Costs a request to the source if the object is unknown or changes. */
  async stat(key: string, { signal, onlyIfCached }: StatOptions): Promise<HierarchyObject | undefined> {
    const { hierarchy, prefix, changing, fetches } = this.#parts;
    const inner = key.slice(prefix.length);
    if (!key.startsWith(prefix) || inner === '') return undefined;
    const { namespace } = hierarchy;
    const changes = changing?.has(inner) === true;
    if (onlyIfCached && (changes || namespace.find(inner) === ABSENT)) throw notCached();
    try {
      const { size, version } = await (changes
        ? changing.stat(inner, signal)
        : hierarchy.stat(inner, { signal }));
      const id = namespace.find(inner);
      if (id === ABSENT) return undefined;
      const from = nameOfLevel(hierarchy, hierarchy.placeOf(id)?.level ?? hierarchy.tiers.length);
      if (size > 0 && from === 'source') {
        if (onlyIfCached) throw notCached();
        if (!fetches(inner, size)) return undefined;
      }
      const lastModified = modifiedIn(version, hierarchy.source.location);
      return { key: inner, id, version, size, etag: etagOf(version), lastModified, metadata: PLAIN, from };
    } catch (error) {
      if (saysNotFound(error)) return undefined;
      throw storageError(error);
    }
  }

  open(object: HierarchyObject, options: OpenOptions): OpenObject {
    return new ObjectReading(this.#parts, object, options);
  }

  /**
   * Like `open`, for a range that is read before its turn: takes the memory for all of it. Undefined if there
   * is not enough beyond what is reserved for others. The iteration has to begin, and to end.
   */
  openAhead(object: HierarchyObject, options: OpenOptions): OpenObject | undefined {
    const { memory } = this.#parts;
    const length = lengthOf(options.range);
    const granted = memory.takeIfFree(length);
    if (granted === length) return new ObjectReading(this.#parts, object, options, granted);
    memory.release(granted);
    return undefined;
  }
}
