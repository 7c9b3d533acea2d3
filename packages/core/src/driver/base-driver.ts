import { configError, isTieredError, notOpenError, TieredError } from '../support/errors.js';
import type {
  CreateOptions,
  DriverCapabilities,
  DriverUsage,
  IndexHome,
  ListOptions,
  ObjectStat,
  ObjectWriter,
  Operation,
  OperationOptions,
  ReadIntoOptions,
  ReadOptions,
  ReadOutcome,
  ReadRequest,
  StorageDriver,
  WriteData,
  WriteOptions,
} from './driver.js';
import { bufferedWriter, checkedPieces, gathered, readEach, unsupported } from './helpers.js';

/** A driver's description of itself for its base class. */
export interface BaseDriverOptions {
  /** Names the driver in messages, events and metrics. Holds no secrets. */
  readonly name: string;
  /** The location of the storage, as `StorageDriver.location`. Default: only this driver can reach it. */
  readonly location?: string | undefined;
  /**
   * The capabilities of the driver besides reading. Each of `list`, `write` and `delete` requires the method
   * that implements it. Default: none; `usage` as `list`, because usage is then the sum of a listing;
   * `persistent` is true.
   */
  readonly capabilities?: Partial<Omit<DriverCapabilities, 'index' | 'buffersWrites'>> | undefined;
}

/** The method that a capability requires. */
const METHODS = { list: 'listObjects', write: 'writeObject', delete: 'deleteObject' } as const;

/** The capability that an operation requires. Every driver reads. */
const NEEDS: Readonly<Partial<Record<Operation, keyof DriverCapabilities>>> = {
  list: 'list',
  write: 'write',
  create: 'write',
  delete: 'delete',
  usage: 'usage',
};

/**
 * The base class of a driver for a source, or for a simple tier. It has every method of the contract and
 * guards each of them: the driver is open, the signal has not aborted, the capability was declared, and every
 * failure is a `TieredError`. The author writes `statObject` and `readRange`, and the methods of the declared
 * capabilities.
 *
 * A method that fails because its signal aborted rejects with `signal.reason`, whatever the author's code
 * threw. Any other error that is not a `TieredError` becomes `TIERED_IO`, with the error as its cause.
 * `TIERED_IO` is not `retryable`. Map retryable errors and missing objects (`notFound`) yourself, in each
 * method or in `explained`.
 *
 * Objects that are written are buffered in memory as a whole. A driver that writes in parts overrides
 * `write`, and does so within `guarded`. A driver that shares an index between processes or has a faster way
 * to read batches implements `StorageDriver` itself.
 */
export abstract class BaseDriver implements StorageDriver {
  readonly name: string;
  readonly capabilities: DriverCapabilities;
  readonly #location: string | undefined;
  #isOpen = false;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for a capability whose method is missing. */
  constructor({ name, location, capabilities = {} }: BaseDriverOptions) {
    this.name = name;
    this.#location = location;
    const { list = false, write = false } = capabilities;
    this.capabilities = Object.freeze({
      delete: false,
      usage: list,
      sharedViews: false,
      persistent: true,
      ...capabilities,
      list,
      write,
      index: false,
      buffersWrites: write,
    });
    for (const [name, method] of Object.entries(METHODS)) {
      const capability = name as keyof typeof METHODS;
      // A driver that overrides the operation itself needs no such method.
      const isOwn = this[capability] !== BaseDriver.prototype[capability];
      if (this.capabilities[capability] && !isOwn && typeof this[method] !== 'function')
        throw configError(`capabilities.${capability}`, `false, or a method ${method}`, true);
    }
  }

  get identity(): string | undefined {
    return undefined;
  }

  get location(): string | undefined {
    return this.#location;
  }

  /** Describes one object. Throws `notFound(this, 'stat', key)` for a missing one. */
  protected abstract statObject(key: string, options: OperationOptions): Promise<ObjectStat>;

  /**
   * Reads a range, short only at the end of the object. The bytes are the caller's, unless the driver
   * declares `sharedViews`. If `version` is given and the object is known to have another one, it throws
   * `versionChanged`.
   */
  protected abstract readRange(key: string, options: ReadOptions): Promise<Uint8Array>;

  /**
   * Reads into the caller's memory, and does not touch it after the call has settled. Default: `readRange`
   * and a copy.
   */
  protected async readRangeInto(key: string, target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    const bytes = await this.readRange(key, { ...options, length: target.byteLength });
    // An aborted read no longer owns the memory.
    options.signal?.throwIfAborted();
    target.set(bytes);
    return bytes.byteLength;
  }

  /**
   * Refuses, with `TIERED_KEY_INVALID`, keys that the storage would confuse with others. Called before each
   * operation on an object. Default: every key is valid.
   */
  protected assertKey?(operation: Operation, key: string): void;

  /**
   * Returns the error that the caller gets for an error thrown by an operation, other than its signal's
   * reason or a `TieredError`. Default: `TIERED_IO`, with the thrown error as its cause.
   */
  protected explained(thrown: unknown, operation: Operation, key: string | undefined): unknown {
    return new TieredError('TIERED_IO', `${this.name}: ${operation} failed; the cause says why.`, {
      cause: thrown,
      driver: this.name,
      operation,
      key,
    });
  }

  /** Prepares the storage. Default: does nothing. */
  protected openStorage?(options: OperationOptions): Promise<void>;

  /** Releases every resource. Called once after each successful `open`. Default: there is none. */
  protected closeStorage?(): Promise<void>;

  /** Enumerates objects in pages, in any order. Required for `list`. */
  protected listObjects?(options: ListOptions): AsyncIterable<readonly ObjectStat[]>;

  /** Creates or replaces an object, atomically. `bytes` has the announced size. Required for `write`. */
  protected writeObject?(key: string, bytes: Uint8Array, options: WriteOptions): Promise<void>;

  /** Removes an object; a missing one is no error. Required for `delete`. */
  protected deleteObject?(key: string, options: OperationOptions): Promise<void>;

  /** Measures the space that the objects occupy. Default: the sum of a listing. */
  protected async measureUsage({ signal }: OperationOptions): Promise<DriverUsage> {
    let bytes = 0;
    let objects = 0;
    for await (const page of this.list({ signal })) {
      objects += page.length;
      for (const { size } of page) bytes += size;
    }
    return { bytes, objects };
  }

  async open(options: OperationOptions): Promise<void> {
    options.signal?.throwIfAborted();
    if (this.#isOpen) return;
    await this.#translated('open', undefined, options.signal, async () => this.openStorage?.(options));
    this.#isOpen = true;
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.closeStorage?.();
  }

  stat(key: string, options: OperationOptions): Promise<ObjectStat> {
    return this.guarded('stat', key, options, () => this.statObject(key, options));
  }

  async *list(options: ListOptions): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    const guarded = <T>(work: () => Promise<T>) => this.guarded('list', undefined, options, work);
    const pages = await guarded(async () => {
      if (this.listObjects === undefined) throw unsupported(this, 'list');
      return this.listObjects(options)[Symbol.asyncIterator]();
    });
    try {
      for (;;) {
        const page = await guarded(() => pages.next());
        if (page.done === true) return;
        yield page.value;
      }
    } finally {
      await pages.return?.();
    }
  }

  read(key: string, options: ReadOptions): Promise<Uint8Array> {
    return this.guarded('read', key, options, () => this.readRange(key, options));
  }

  readInto(key: string, target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    return this.guarded('readInto', key, options, () => this.readRangeInto(key, target, options));
  }

  readMany(requests: readonly ReadRequest[], options: OperationOptions): Promise<readonly ReadOutcome[]> {
    return readEach(this, requests, options);
  }

  async write(key: string, data: WriteData, options: WriteOptions): Promise<void> {
    this.#assertUsable('write', key, options.signal);
    // Errors of the producer of the bytes are not the storage's, and pass unchanged.
    const pieces = checkedPieces(this, key, data, options);
    const bytes = await gathered(pieces, data, () => this.#memoryFor(key, options.size));
    await this.guarded('write', key, options, async () => this.writeObject?.(key, bytes, options));
  }

  create(key: string, options: CreateOptions): Promise<ObjectWriter> {
    return this.guarded('create', key, options, async () => bufferedWriter(this, key, options));
  }

  delete(key: string, options: OperationOptions): Promise<void> {
    return this.guarded('delete', key, options, async () => this.deleteObject?.(key, options));
  }

  usage(options: OperationOptions): Promise<DriverUsage> {
    return this.guarded('usage', undefined, options, () => this.measureUsage(options));
  }

  async openIndex({ signal }: OperationOptions): Promise<IndexHome> {
    signal?.throwIfAborted();
    throw unsupported(this, 'openIndex');
  }

  #memoryFor(key: string, size: number): Uint8Array {
    try {
      return new Uint8Array(size);
    } catch (cause) {
      throw new TieredError(
        'TIERED_NO_SPACE',
        `${this.name} cannot write ${size} bytes: an object is kept in memory until it is written, which is too much here.`,
        { cause, driver: this.name, operation: 'write', key },
      );
    }
  }

  #assertUsable(operation: Operation, key: string | undefined, signal: AbortSignal | undefined): void {
    signal?.throwIfAborted();
    const needed = NEEDS[operation];
    if (needed !== undefined && !this.capabilities[needed]) throw unsupported(this, operation);
    if (!this.#isOpen) throw notOpenError(this.name);
    if (key !== undefined) this.assertKey?.(operation, key);
  }

  /** Runs an operation as every method here does: after all checks, and with its errors explained. */
  protected async guarded<T>(
    operation: Operation,
    key: string | undefined,
    { signal }: OperationOptions,
    work: () => Promise<T>,
  ): Promise<T> {
    this.#assertUsable(operation, key, signal);
    return this.#translated(operation, key, signal, work);
  }

  async #translated<T>(
    operation: Operation,
    key: string | undefined,
    signal: AbortSignal | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    try {
      return await work();
    } catch (error) {
      signal?.throwIfAborted();
      throw isTieredError(error) ? error : this.explained(error, operation, key);
    }
  }
}
