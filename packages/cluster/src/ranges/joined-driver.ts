import { isTieredError, type Hierarchy, type StorageDriver } from '@tiered/core';
import {
  InterceptingDriver,
  versionChanged,
  type DriverCall,
  type DriverCapabilities,
  type ListOptions,
  type ObjectStat,
  type ReadIntoOptions,
  type ReadOptions,
} from '@tiered/core/driver';
import { ABSENT } from '@tiered/core/internal';
import { inNewMemory } from '../in-new-memory.js';
import { reservedKey, type RangeNames, type RangePart } from './range-names.js';

/**
 * Ranges that a read waits for at a time: it reads from several homes at once, but not from all for a whole
 * shard.
 */
const AT_ONCE = 8;

/**
 * Presents whole objects whose ranges a hierarchy has. It knows no sizes: a range that the hierarchy does not
 * have is beyond the end.
 */
export class JoinedDriver extends InterceptingDriver {
  override readonly capabilities: DriverCapabilities;
  readonly #keeper: Hierarchy;
  readonly #names: RangeNames;

  constructor(source: StorageDriver, keeper: Hierarchy, names: RangeNames) {
    super(source);
    this.#keeper = keeper;
    this.#names = names;
    this.capabilities = Object.freeze({
      ...source.capabilities,
      sharedViews: false,
      // The threads of the hierarchy's tiers are different ones.
      threads: undefined,
      readsAtOnce: undefined,
    });
  }

  override async *list(options: ListOptions): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    for await (const page of super.list(options)) {
      const objects = page.filter(({ key }) => !this.#names.isReserved(key));
      yield objects;
      if (objects.length === page.length) continue;
      for (const { key } of page)
        if (this.#names.isReserved(key)) options.leftOut?.(key, 'its key looks like the name of a range');
    }
  }

  override read(key: string, options: ReadOptions): Promise<Uint8Array> {
    return inNewMemory(key, options.length, (target) => this.readInto(key, target, options));
  }

  override async readInto(key: string, target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    if (this.#names.isReserved(key)) throw reservedKey(key);
    let group: RangePart[] = [];
    for (const part of this.#names.partsOf(key, options.offset, target.byteLength)) {
      group.push(part);
      if (group.length < AT_ONCE && part.to < target.byteLength) continue;
      const end = await this.#readParts(key, group, target, options);
      if (end < part.to) return end;
      group = [];
    }
    return target.byteLength;
  }

  protected override intercept<T>({ key, proceed }: DriverCall<T>): Promise<T> {
    return this.#names.isReserved(key) ? Promise.reject(reservedKey(key)) : proceed();
  }

  /** Reads consecutive parts. Returns the end of the bytes in the target. */
  async #readParts(
    key: string,
    parts: readonly RangePart[],
    target: Uint8Array,
    { version, signal }: ReadIntoOptions,
  ): Promise<number> {
    const there = await this.#thereOf(key, parts, version, signal);
    const requests = there.map(({ name, offset, from, to }) => ({
      key: name,
      offset,
      target: target.subarray(from, to),
    }));
    const outcomes = await this.#keeper.readMany(requests, { signal });
    let end = parts[0]?.from ?? 0;
    for (const [index, outcome] of outcomes.entries()) {
      if ('error' in outcome) throw outcome.error;
      const { name, from, to } = there[index] ?? { name: key, from: end, to: end };
      if (version !== undefined && this.#knownVersionOf(name) !== version)
        throw versionChanged(this, 'read', key);
      end = from + outcome.bytes;
      if (end < to) break;
    }
    return end;
  }

  /**
   * The parts whose ranges exist, up to the end of the object.
   * @throws TieredError `TIERED_NOT_FOUND` for an object that is missing, and `TIERED_SOURCE_CHANGED` for one
   * of another version.
   */
  async #thereOf(
    key: string,
    parts: readonly RangePart[],
    version: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<readonly RangePart[]> {
    const are = await Promise.all(parts.map(({ name }) => this.#isThere(key, name, version, signal)));
    const end = are.indexOf(false);
    if (end === -1) return parts;
    // The range is beyond the end, or the object does not exist.
    const now = await this.inner.stat(key, { signal });
    const { start } = this.#names.rangeOf(parts[end]?.name ?? key) ?? { start: 0 };
    // The object has become shorter than the version that is read, or has just become longer.
    const hasChanged = version !== undefined && now.version !== version;
    if (hasChanged || start < now.size) throw versionChanged(this, 'read', key);
    return parts.slice(0, end);
  }

  async #isThere(
    key: string,
    name: string,
    version: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    try {
      let found = await this.#keeper.stat(name, { signal });
      if (version === undefined || found.version === version) return true;
      // The hierarchy or the reader knows an older version.
      found = await this.#keeper.revalidate(name, { signal });
      if (found.version === version) return true;
    } catch (error) {
      if (isTieredError(error, 'TIERED_NOT_FOUND')) return false;
      throw error;
    }
    throw versionChanged(this, 'read', key);
  }

  #knownVersionOf(name: string): string | undefined {
    const { namespace } = this.#keeper;
    const id = namespace.find(name);
    return id === ABSENT ? undefined : namespace.versionOf(id);
  }
}
