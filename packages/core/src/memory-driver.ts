import { parseBytes, type ByteSize } from './bytes.js';
import {
  checkedPieces,
  notFound,
  readEach,
  unsupported,
  versionChanged,
  writerInto,
  type CreateOptions,
  type DriverCapabilities,
  type DriverUsage,
  type ListOptions,
  type ObjectStat,
  type ObjectWriter,
  type Operation,
  type OperationOptions,
  type ReadIntoOptions,
  type ReadOptions,
  type ReadOutcome,
  type ReadRequest,
  type SharedLog,
  type StorageDriver,
  type WriteData,
  type WriteOptions,
} from './driver.js';
import { TieredError } from './errors.js';
import { MemoryLogStorage } from './memory-log.js';

/** Options of `MemoryDriver`. */
export interface MemoryDriverOptions {
  /** Name in messages and metrics. Default: `'memory'`. */
  readonly name?: string;
  /**
   * Bytes it takes at most; more is `TIERED_NO_SPACE`. Default: no bound of its own, because the quota of the tier
   * that holds it is one; set it when you use the driver alone.
   */
  readonly capacity?: ByteSize;
  /**
   * Whether it keeps a log of what is in it, so that several hierarchies of this process can use it as a tier, one after
   * the other or at the same time. Default: false: a log costs about 500 bytes an object, and RAM is mostly one
   * hierarchy's own, which begins empty.
   */
  readonly log?: boolean;
}

interface StoredObject {
  readonly bytes: Uint8Array;
  readonly version: string;
}

/** Keys a page of `list`; bounds how long one page keeps the event loop. */
const LIST_PAGE = 1000;

/**
 * Objects in the memory of this process: the RAM tier, and a source for tests. Reads return views without copying,
 * and a view stays valid after its object was replaced or deleted. Contents survive `close` and `open` of the same
 * instance, not the process.
 */
export class MemoryDriver implements StorageDriver {
  readonly name: string;
  readonly capabilities: DriverCapabilities;
  readonly location = undefined;
  readonly #log = new MemoryLogStorage();
  readonly #objects = new Map<string, StoredObject>();
  readonly #capacity: number;
  #bytes = 0;
  #writes = 0;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for a capacity that is not a size. */
  constructor(options: MemoryDriverOptions = {}) {
    this.name = options.name ?? 'memory';
    this.capabilities = Object.freeze({
      list: true,
      write: true,
      delete: true,
      usage: true,
      sharedViews: true,
      persistent: true,
      log: options.log ?? false,
      buffersWrites: false,
    });
    this.#capacity = options.capacity === undefined ? Infinity : parseBytes(options.capacity, 'capacity');
  }

  async open({ signal }: OperationOptions): Promise<void> {
    signal?.throwIfAborted();
  }

  async close(): Promise<void> {
    // Nothing is held open; the objects stay for the next open().
  }

  async stat(key: string, { signal }: OperationOptions): Promise<ObjectStat> {
    signal?.throwIfAborted();
    const { bytes, version } = this.#get('stat', key);
    return { key, size: bytes.byteLength, version };
  }

  async *list({ prefix = '', signal }: ListOptions): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    signal?.throwIfAborted();
    let page: ObjectStat[] = [];
    for (const [key, { bytes, version }] of this.#objects) {
      signal?.throwIfAborted();
      if (!key.startsWith(prefix)) continue;
      page.push({ key, size: bytes.byteLength, version });
      if (page.length < LIST_PAGE) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  }

  async read(key: string, { offset, length, version, signal }: ReadOptions): Promise<Uint8Array> {
    signal?.throwIfAborted();
    const { bytes } = this.#get('read', key, version);
    return bytes.subarray(offset, offset + length);
  }

  async readInto(
    key: string,
    target: Uint8Array,
    { offset, version, signal }: ReadIntoOptions,
  ): Promise<number> {
    signal?.throwIfAborted();
    const { bytes } = this.#get('readInto', key, version);
    const range = bytes.subarray(offset, offset + target.byteLength);
    target.set(range);
    return range.byteLength;
  }

  readMany(requests: readonly ReadRequest[], options: OperationOptions): Promise<readonly ReadOutcome[]> {
    return readEach(this, requests, options);
  }

  async write(key: string, data: WriteData, options: WriteOptions): Promise<void> {
    options.signal?.throwIfAborted();
    const bytes = this.#allocate('write', key, options.size);
    let filled = 0;
    for await (const piece of checkedPieces(this, key, data, options)) {
      bytes.set(piece, filled);
      filled += piece.byteLength;
    }
    // Nothing comes between this look and what follows.
    if (options.ifAbsent === true && this.#objects.has(key)) throw this.#exists(key);
    this.#publish('write', key, bytes);
  }

  async create(key: string, { size, signal }: CreateOptions): Promise<ObjectWriter> {
    signal?.throwIfAborted();
    const bytes = this.#allocate('create', key, size);
    return writerInto(bytes, async (options) => {
      options.signal?.throwIfAborted();
      this.#publish('publish', key, bytes);
    });
  }

  async delete(key: string, { signal }: OperationOptions): Promise<void> {
    signal?.throwIfAborted();
    this.#bytes -= this.#sizeOf(key);
    this.#objects.delete(key);
  }

  async usage({ signal }: OperationOptions): Promise<DriverUsage> {
    signal?.throwIfAborted();
    const freeBytes = this.#capacity === Infinity ? undefined : this.#capacity - this.#bytes;
    return { bytes: this.#bytes, objects: this.#objects.size, freeBytes };
  }

  async openLog({ signal }: OperationOptions): Promise<SharedLog> {
    signal?.throwIfAborted();
    if (!this.capabilities.log) throw unsupported(this, 'openLog');
    return this.#log.open();
  }

  /** Not before now is it looked whether there is room: others may have been published while the bytes came. */
  #publish(operation: Operation, key: string, bytes: Uint8Array): void {
    this.#assertRoom(operation, key, bytes.byteLength);
    this.#bytes += bytes.byteLength - this.#sizeOf(key);
    this.#writes += 1;
    this.#objects.set(key, { bytes, version: `${this.#writes}` });
  }

  #get(operation: Operation, key: string, version?: string): StoredObject {
    const found = this.#objects.get(key);
    if (found === undefined) throw notFound(this, operation, key);
    if (version !== undefined && version !== found.version) throw versionChanged(this, operation, key);
    return found;
  }

  #sizeOf(key: string): number {
    return this.#objects.get(key)?.bytes.byteLength ?? 0;
  }

  #allocate(operation: Operation, key: string, size: number): Uint8Array {
    this.#assertRoom(operation, key, size);
    try {
      return new Uint8Array(size);
    } catch (error) {
      throw this.#noSpace(operation, key, size, 'this process cannot have that much memory', error);
    }
  }

  #assertRoom(operation: Operation, key: string, size: number): void {
    if (this.#bytes - this.#sizeOf(key) + size <= this.#capacity) return;
    throw this.#noSpace(
      operation,
      key,
      size,
      `it holds ${this.#bytes} of ${this.#capacity} bytes; raise its capacity`,
    );
  }

  #exists(key: string): TieredError {
    const message = `${this.name} has an object ${JSON.stringify(key)} already; nothing was written.`;
    return new TieredError('TIERED_EXISTS', message, { driver: this.name, operation: 'write', key });
  }

  #noSpace(operation: Operation, key: string, size: number, reason: string, cause?: unknown): TieredError {
    const message = `${this.name} cannot take ${size} bytes more: ${reason}.`;
    return new TieredError('TIERED_NO_SPACE', message, { cause, driver: this.name, operation, key });
  }
}
