import { markAsUntransferable } from 'node:worker_threads';
import { parseBytes, type ByteSize } from '../support/bytes.js';
import type {
  CreateOptions,
  DriverCapabilities,
  DriverUsage,
  ListOptions,
  ObjectStat,
  ObjectWriter,
  Operation,
  OperationOptions,
  ReadIntoOptions,
  ReadOptions,
  ReadOutcome,
  ReadRequest,
  IndexHome,
  StorageDriver,
  WriteData,
  WriteOptions,
} from './driver.js';
import { assertSize, checkedPieces, notFound, unsupported, versionChanged, writerInto } from './helpers.js';
import { TieredError } from '../support/errors.js';

/** Options of `MemoryDriver`. */
export interface MemoryDriverOptions {
  /** Name in messages and metrics. Default: `'memory'`. */
  readonly name?: string | undefined;
  /**
   * The most bytes it takes. More is `TIERED_NO_SPACE`. Default: no bound of its own, because its tier has a
   * quota. Set it when you use the driver alone.
   */
  readonly quota?: ByteSize | undefined;
}

interface StoredObject {
  readonly bytes: Uint8Array;
  /**
   * Length of `bytes` when they were stored. Their length is 0 if the borrower of a view took the memory
   * away.
   */
  readonly size: number;
  readonly version: string;
}

/** Keys per page of `list`. Bounds how long one page blocks the event loop. */
const LIST_PAGE = 1000;

/**
 * Keeps objects in the memory of this process: for the RAM tier, and as a source for tests. Reads return
 * views without copying. A view stays valid after its object was replaced or deleted. Contents survive
 * `close` and `open` of the same instance, but not the end of the process.
 *
 * A view must only be read. `postMessage` does not transfer its memory: it copies the memory or throws,
 * depending on the version of Node. If a program takes the memory away anyway, by `ArrayBuffer.transfer`, the
 * object is treated as deleted.
 */
export class MemoryDriver implements StorageDriver {
  readonly name: string;
  readonly capabilities: DriverCapabilities;
  readonly location = undefined;
  readonly identity = undefined;
  readonly #objects = new Map<string, StoredObject>();
  readonly #quota: number;
  #bytes = 0;
  #writes = 0;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for a quota that is not a size. */
  constructor(options: MemoryDriverOptions = {}) {
    this.name = options.name ?? 'memory';
    this.capabilities = Object.freeze({
      list: true,
      write: true,
      delete: true,
      usage: true,
      sharedViews: true,
      persistent: true,
      index: false,
      buffersWrites: false,
    });
    this.#quota = options.quota === undefined ? Infinity : parseBytes(options.quota, 'quota');
  }

  async open({ signal }: OperationOptions): Promise<void> {
    signal?.throwIfAborted();
  }

  async close(): Promise<void> {
    // No resource is held open. The objects stay for the next open().
  }

  async stat(key: string, { signal }: OperationOptions): Promise<ObjectStat> {
    signal?.throwIfAborted();
    const { size, version } = this.#get('stat', key);
    return { key, size, version };
  }

  async *list({ prefix = '', signal }: ListOptions): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    signal?.throwIfAborted();
    let page: ObjectStat[] = [];
    for (const [key, object] of this.#objects) {
      signal?.throwIfAborted();
      if (!key.startsWith(prefix) || this.#isTakenAway(key, object)) continue;
      page.push({ key, size: object.size, version: object.version });
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

  /** Synchronous, so that a read of a batch costs no promise. */
  async readMany(
    requests: readonly ReadRequest[],
    options: OperationOptions,
  ): Promise<readonly ReadOutcome[]> {
    return requests.map((request) => this.#readNow(request, options));
  }

  #readNow({ key, offset, target, version, pieces }: ReadRequest, { signal }: OperationOptions): ReadOutcome {
    try {
      signal?.throwIfAborted();
      const { bytes } = this.#get('readInto', key, version);
      return { bytes: copyPieces(bytes.subarray(offset), target, pieces ?? [0, target.byteLength]) };
    } catch (error) {
      return { error };
    }
  }

  async write(key: string, data: WriteData, options: WriteOptions): Promise<void> {
    options.signal?.throwIfAborted();
    const bytes = await this.#contentOf(key, data, options);
    // No other code runs between this check and the next lines.
    if (options.ifAbsent === true && this.#objects.has(key)) throw this.#exists(key);
    this.#publish('write', key, bytes);
  }

  async #contentOf(key: string, data: WriteData, options: WriteOptions): Promise<Uint8Array> {
    const { size, isGiven = false } = options;
    if (data instanceof Uint8Array) assertSize(this, key, data, size);
    if (isGiven && data instanceof Uint8Array && isAll(data)) return data;
    const bytes = this.#allocate('write', key, size);
    if (data instanceof Uint8Array) bytes.set(data);
    else await this.#fill(bytes, checkedPieces(this, key, data, options));
    return bytes;
  }

  async #fill(bytes: Uint8Array, pieces: AsyncIterable<Uint8Array>): Promise<void> {
    let filled = 0;
    for await (const piece of pieces) {
      bytes.set(piece, filled);
      filled += piece.byteLength;
    }
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
    this.#forget(key);
  }

  async usage({ signal }: OperationOptions): Promise<DriverUsage> {
    signal?.throwIfAborted();
    const freeBytes = this.#quota === Infinity ? undefined : this.#quota - this.#bytes;
    return { bytes: this.#bytes, objects: this.#objects.size, freeBytes };
  }

  async openIndex({ signal }: OperationOptions): Promise<IndexHome> {
    signal?.throwIfAborted();
    throw unsupported(this, 'openIndex');
  }

  /**
   * Publishes an object. The quota is checked only now, because other objects may have been published while
   * the bytes came.
   */
  #publish(operation: Operation, key: string, bytes: Uint8Array): void {
    this.#assertRoom(operation, key, bytes.byteLength);
    this.#bytes += bytes.byteLength - this.#sizeOf(key);
    this.#writes += 1;
    markAsUntransferable(bytes.buffer);
    this.#objects.set(key, { bytes, size: bytes.byteLength, version: `${this.#writes}` });
  }

  /** Whether the memory of an object was taken away. The object then counts as deleted. */
  #isTakenAway(key: string, { bytes, size }: StoredObject): boolean {
    if (bytes.byteLength === size) return false;
    this.#forget(key);
    return true;
  }

  #forget(key: string): void {
    this.#bytes -= this.#sizeOf(key);
    this.#objects.delete(key);
  }

  #get(operation: Operation, key: string, version?: string): StoredObject {
    const found = this.#objects.get(key);
    if (found === undefined || this.#isTakenAway(key, found)) throw notFound(this, operation, key);
    if (version !== undefined && version !== found.version) throw versionChanged(this, operation, key);
    return found;
  }

  #sizeOf(key: string): number {
    return this.#objects.get(key)?.size ?? 0;
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
    if (this.#bytes - this.#sizeOf(key) + size <= this.#quota) return;
    throw this.#noSpace(
      operation,
      key,
      size,
      `it holds ${this.#bytes} of ${this.#quota} bytes; raise its quota`,
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

/** Copies ranges back to back; returns the number of bytes up to the point where a range is cut short. */
function copyPieces(bytes: Uint8Array, target: Uint8Array, pieces: ArrayLike<number>): number {
  let filled = 0;
  for (let i = 0; i < pieces.length; i += 2) {
    const [from = 0, length = 0] = [pieces[i], pieces[i + 1]];
    const piece = bytes.subarray(from, from + length);
    target.set(piece, filled);
    filled += piece.byteLength;
    if (piece.byteLength < length) break;
  }
  return filled;
}

/** Whether bytes span their whole buffer, so that it holds no other data. */
function isAll({ buffer, byteLength }: Uint8Array): boolean {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
}
