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
   * Bytes of a range, at least 1. All workers need the same, else they are of no use to each other. Default:
   * 64 MiB. Smaller ones spread better, and each is a key that every worker knows.
   */
  readonly bytes?: ByteSize | undefined;
}

/** What a source of ranges cannot do. */
const REFUSED: readonly string[] = ['write', 'create', 'delete'];
/** Objects of a page of a listing. */
const PAGE = 1_000;

/**
 * Shows a large object of a source as several: its ranges, each a key of its own with the version of the
 * object. So each has a home of its own among the workers of a cluster, and a place of its own on their
 * tiers. An object that is not larger than a range is shown as it is. It can only be read.
 *
 * Give it to `Cluster.source` for the hierarchy that is served, and read from a hierarchy around that one
 * whose source is `joined`: there, objects are whole. No key may end like the name of a range,
 * `.tiered-range-SIZE-NUMBER`. Listings leave such objects out.
 */
export class RangesDriver extends InterceptingDriver {
  override readonly capabilities: DriverCapabilities;
  readonly #names: RangeNames;
  readonly #bytes: number;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for a range of no bytes. */
  constructor(source: StorageDriver, { bytes = '64MiB' }: RangesOptions = {}) {
    super(source);
    this.#bytes = parseBytes(bytes, 'bytes');
    assertCounts({ bytes: this.#bytes });
    this.#names = new RangeNames(this.#bytes);
    this.capabilities = Object.freeze({ ...source.capabilities, write: false, delete: false });
  }

  /** Other than that of the source: copies and manifests of whole objects are not of ranges. */
  override get identity(): string {
    return `ranges of ${this.#bytes} bytes of ${identityOf(this.inner)}`;
  }

  /**
   * Makes the source that has whole objects again, for the hierarchy that is read from. `stat`, `list` and
   * writes are those of the source itself, and reads go to the ranges.
   *
   * A read gives bytes of the version that was asked for, whichever ranges it touches, and rejects with
   * `TIERED_SOURCE_CHANGED` if they have another one. Without a version, each range is of any. A key that
   * looks like the name of a range is `TIERED_KEY_INVALID`. An abort rejects once nothing is written to the
   * target any more.
   * @param keeper Has the ranges: its source is this driver, or `Cluster.source` of it. It has to be open
   * while anything is read, and is closed by the caller, afterwards.
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
        // The other hierarchy tells of it.
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

  /** So many of the bytes are of the range itself. */
  #within(offset: number, length: number): number {
    return Math.max(0, Math.min(length, this.#bytes - offset));
  }
}
