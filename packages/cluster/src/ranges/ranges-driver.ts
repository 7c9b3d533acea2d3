import { parseBytes, type ByteSize, type Hierarchy, type StorageDriver } from '@tiered/core';
import {
  InterceptingDriver,
  notFound,
  unsupported,
  type DriverCall,
  type DriverCapabilities,
  type ListOptions,
  type ObjectStat,
  type OperationOptions,
  type ReadIntoOptions,
  type ReadOptions,
} from '@tiered/core/driver';
import { assertCounts, identityOf } from '@tiered/core/internal';
import { JoinedDriver } from './joined-driver.js';
import { RangeNames, type NamedRange } from './range-names.js';

/** Options of `RangesDriver`. */
export interface RangesOptions {
  /**
   * Bytes of a range, at least 1. All workers need the same value, else they are of no use to each other.
   * Default: 64 MiB. Smaller ranges spread better, but each is a key that every worker has to know.
   */
  readonly bytes?: ByteSize | undefined;
}

/** Operations that a source of ranges does not support. */
const REFUSED: readonly string[] = ['write', 'create', 'delete'];
/** Objects per page of a listing. */
const PAGE = 1_000;

/**
 * Splits each large object of a source into ranges. Each range has its own key and the version of the object.
 * So each range has its own home among the workers of a cluster, and its own copy on their tiers. An object
 * no larger than a range is shown as it is. The driver is read-only.
 *
 * Pass it to `Cluster.source` for the hierarchy that is served. Read from a second hierarchy whose source is
 * `joined` of the first: there, objects are whole. No key may end like the name of a range,
 * `.tiered-range-SIZE-NUMBER`. Listings omit objects with these keys.
 */
export class RangesDriver extends InterceptingDriver {
  override readonly capabilities: DriverCapabilities;
  readonly #names: RangeNames;
  readonly #bytes: number;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for a range size of 0. */
  constructor(source: StorageDriver, { bytes = '64MiB' }: RangesOptions = {}) {
    super(source);
    this.#bytes = parseBytes(bytes, 'bytes');
    assertCounts({ bytes: this.#bytes });
    this.#names = new RangeNames(this.#bytes);
    this.capabilities = Object.freeze({ ...source.capabilities, write: false, delete: false });
  }

  /** Differs from the source's identity: copies and manifests of whole objects do not fit ranges. */
  override get identity(): string {
    return `ranges of ${this.#bytes} bytes of ${identityOf(this.inner)}`;
  }

  /**
   * Makes the source of whole objects, for the hierarchy that is read from. `stat`, `list` and writes go to
   * the source itself, and reads go to the ranges.
   *
   * A read returns bytes of the requested version, whichever ranges it touches, and rejects with
   * `TIERED_SOURCE_CHANGED` if a range has another one. Without a version, each range may be of any version.
   * A key that looks like the name of a range is rejected with `TIERED_KEY_INVALID`. An aborted read rejects
   * once nothing writes to the target any more.
   * @param keeper The hierarchy that has the ranges. Its source is this driver, or `Cluster.source` of it. It
   * has to be open during reads, and the caller closes it afterwards.
   */
  joined(keeper: Hierarchy): StorageDriver {
    return new JoinedDriver(this.inner, keeper, this.#names);
  }

  override async stat(name: string, options: OperationOptions): Promise<ObjectStat> {
    const { key, start } = this.#rangeOf('stat', name);
    const { size, version } = await this.inner.stat(key, options);
    if (start > 0 && start >= size) throw notFound(this, 'stat', name);
    return { key: name, size: this.#names.sizeOf(start, size), version };
  }

  override async *list({
    prefix = '',
    ...options
  }: ListOptions): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    const objects = this.inner.list({ ...options, prefix: this.#names.prefixOfKeys(prefix) });
    for await (const listed of objects) {
      let page: ObjectStat[] = [];
      for (const { key, size, version } of listed) {
        // The other hierarchy reports it.
        if (this.#names.isReserved(key)) continue;
        for (const range of this.#names.rangesOf(key, size)) {
          if (!range.name.startsWith(prefix)) continue;
          page.push({ key: range.name, size: range.size, version });
          if (page.length < PAGE) continue;
          yield page;
          page = [];
        }
      }
      if (page.length > 0) yield page;
    }
  }

  override async read(name: string, options: ReadOptions): Promise<Uint8Array> {
    const { key, start } = this.#rangeOf('read', name);
    const length = this.#within(options.offset, options.length);
    return this.inner.read(key, { ...options, offset: start + options.offset, length });
  }

  override async readInto(name: string, target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    const { key, start } = this.#rangeOf('readInto', name);
    const { offset } = options;
    const range = target.subarray(0, this.#within(offset, target.byteLength));
    return this.inner.readInto(key, range, { ...options, offset: start + offset });
  }

  protected override intercept<T>({ operation, proceed }: DriverCall<T>): Promise<T> {
    return REFUSED.includes(operation) ? Promise.reject(unsupported(this, operation)) : proceed();
  }

  #rangeOf(operation: 'stat' | 'read' | 'readInto', name: string): NamedRange {
    const range = this.#names.rangeOf(name);
    if (range === undefined) throw notFound(this, operation, name);
    return range;
  }

  /** The number of bytes that lie in the range itself. */
  #within(offset: number, length: number): number {
    return Math.max(0, Math.min(length, this.#bytes - offset));
  }
}
