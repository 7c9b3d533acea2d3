import fs from 'node:fs';
import path from 'node:path';
import type { ListOptions, ObjectStat, OperationOptions, ReadOutcome, StorageDriver } from '@tiered/core';
import {
  checkedPieces,
  unsupported,
  type CreateOptions,
  type DriverCapabilities,
  type DriverUsage,
  type ObjectWriter,
  type Operation,
  type ReadIntoOptions,
  type ReadOptions,
  type ReadRequest,
  type IndexHome,
  type WriteData,
  type WriteOptions,
} from '@tiered/core/driver';
import { notOpenError } from '@tiered/core/internal';
import { accessOf } from './write/file-writes.js';
import { BatchReads, readParts, type SingleReads } from './read/batch-reads.js';
import { fromFsError, hasErrno, isFault, notAFile } from './errors.js';
import { FileReader } from './read/file-reader.js';
import { FileWriter } from './write/file-writer.js';
import { DirectoryHome } from './index-home/index-home.js';
import { NativeWriter, partsOf } from './write/native-writer.js';
import { describe } from './file-version.js';
import { checkedOptions, type CheckedFileOptions, type FileSystemDriverOptions } from './options.js';
import { fileSystemOf } from './root/file-system.js';
import { RootDirectory } from './root/root-directory.js';
import { SLOTS, THREADS, ThreadPool } from './read/thread-pool.js';
import { walk } from './list/walk.js';

/** The unit in which a file's blocks are counted, whatever the block size of its file system. */
const BYTES_OF_A_BLOCK = 512;

/** Milliseconds that `close` waits for calls that hang. */
const LONGEST_CLOSE_MS = 1000;

/**
 * Keeps objects as files below a directory: a source on a shared file system, or a tier on a local disk.
 *
 * Keys cannot leave the root: `..`, absolute keys, NUL and symbolic links that lead outside are
 * `TIERED_KEY_INVALID`, unless `links` lets links lead outside. Reads are positioned reads on descriptors
 * that stay open between calls. The next `stat` notices a file that was replaced under the same name. If no
 * version is requested, a file is read without a further check: a device in its place is read too.
 *
 * The signal is checked before each system call, because a call in flight cannot be stopped. Listings, and
 * reads and `stat` of a tier's objects, nevertheless end at once on abort, and leave their calls behind. When
 * so many calls hang that few threads of Node's pool are left, further ones are `TIERED_UNAVAILABLE`,
 * retryable.
 *
 * If `@tiered/native` is available, native threads make the reads, up to `nativeThreads` at a time. Otherwise
 * Node's thread pool makes them (`capabilities.threads` says which). Reads that are as fast as memory take
 * shortcuts: small ones of a tier are blocking calls, and two more native threads read batches into shared
 * memory.
 *
 * Node's pool has four threads for the whole process, unless UV_THREADPOOL_SIZE says otherwise. A read keeps
 * its thread until the source answers, even after an abort. If reads of a slow source wait for these threads,
 * the process is warned once.
 */
export class FileSystemDriver implements StorageDriver {
  readonly name: string;
  readonly capabilities: DriverCapabilities;
  readonly #path: string;
  readonly #options: CheckedFileOptions;
  readonly #pool: ThreadPool;
  readonly #reader: FileReader;
  readonly #batches: BatchReads;
  readonly #writers = new Set<FileWriter>();
  /** Writes files whose bytes are all available, and that need not be on the disk itself. */
  readonly #native: NativeWriter | undefined;
  /** Ends of listings that were aborted while calls of theirs may hang. */
  readonly #left = new Set<Promise<void>>();
  #opened: RootDirectory | undefined;
  /** Tells the file system of a source from another one mounted at its path since it was opened. */
  #fileSystem: string | undefined;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work. */
  constructor(options: FileSystemDriverOptions) {
    this.#options = checkedOptions(options);
    this.name = `fs:${this.#options.root}`;
    this.#path = path.resolve(this.#options.root);
    const { writable, nativeThreads, readerThreads, clock, fsync } = this.#options;
    this.capabilities = Object.freeze({
      list: true,
      write: writable,
      delete: writable,
      usage: true,
      sharedViews: false,
      persistent: true,
      index: writable,
      buffersWrites: false,
      threads: nativeThreads > 0 ? 'native' : 'node',
      readsAtOnce: nativeThreads || (writable ? SLOTS : THREADS),
    });
    this.#pool = new ThreadPool(clock, writable);
    this.#reader = new FileReader(this, () => this.#root, this.#pool, this.#options);
    const single: SingleReads = {
      readInto: (key, target, range) => this.readInto(key, target, range),
      readPieces: (request, { signal }) =>
        this.#run('readInto', request.key, signal, () => this.#reader.readPieces(request, { signal })),
    };
    this.#batches = new BatchReads(single, () => this.#root, this.#pool, readerThreads);
    if (writable && nativeThreads > 0 && !fsync)
      this.#native = new NativeWriter(this.name, () => this.#root, this.#pool);
  }

  /** The directory: its real path while the driver is open, else the path in the options. */
  get location(): string {
    const directory = this.#opened?.realPath ?? this.#path;
    return `file://${path.posix.join('/', directory.replaceAll(path.sep, '/'), '/')}`;
  }

  /**
   * The name of the data from the options, else the path with the details that tell its file system apart.
   */
  get identity(): string | undefined {
    const { identity } = this.#options;
    if (identity !== undefined) return `data:${identity}/`;
    return this.#fileSystem === undefined ? undefined : `${this.location}#${this.#fileSystem}`;
  }

  /** Open descriptors: kept files, those of reader threads, and writers that have not ended. */
  get openFiles(): number {
    const writing = this.#writers.size + (this.#native?.openFiles ?? 0);
    return this.#reader.openFiles + this.#batches.openFiles + writing;
  }

  open({ signal }: OperationOptions): Promise<void> {
    return this.#run('open', '', signal, async () => {
      const { root, readableBy, links } = this.#options;
      const access = accessOf(readableBy);
      const mayLeave = links === 'follow';
      this.#opened = await RootDirectory.open(root, { ...this.#options, access, mayLeave }, this.name);
      this.#fileSystem = this.#options.writable ? undefined : await fileSystemOf(this.#opened.realPath);
      this.#reader.open();
      this.#native?.open();
      this.#pool.doubt();
    });
  }

  /**
   * Follows the contract. Unfinished writes are discarded. Waits at most a second for calls that hang. They
   * close their files when they end.
   */
  async close(): Promise<void> {
    const closing = Promise.all([
      ...[...this.#writers].map((writer) => writer.discard()),
      this.#reader.close(),
      this.#batches.close(),
      this.#native?.close(),
      ...this.#left,
    ]);
    const closed = new AbortController();
    const longEnough = this.#options.clock.sleep(LONGEST_CLOSE_MS, closed.signal).catch(() => undefined);
    await Promise.race([closing, longEnough]);
    await Promise.race([this.#opened?.leave(), longEnough]).finally(() => closed.abort());
    this.#opened = undefined;
  }

  stat(key: string, { signal }: OperationOptions): Promise<ObjectStat> {
    const caller = { driver: this.name, operation: 'stat', key } as const;
    const look = async () => {
      const root = this.#root;
      try {
        const realPath = await root.assertInside(root.pathOf(key), key);
        const stat = await fs.promises.stat(realPath, { bigint: true });
        if (!stat.isFile()) throw notAFile(this, 'stat', key);
        const found = describe(key, stat);
        this.#reader.files.keepOnly(key, found.version);
        return found;
      } catch (error) {
        this.#reader.files.forget(key);
        throw error;
      }
    };
    return this.#run('stat', key, signal, () => this.#pool.run(caller, signal, look));
  }

  async *list(options: ListOptions): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    try {
      yield* this.#walk(options);
    } catch (error) {
      throw await this.#explain(error, 'list', '');
    }
  }

  async read(key: string, options: ReadOptions): Promise<Uint8Array> {
    options.signal?.throwIfAborted();
    const read = this.#reader.readBlocking(key, options);
    if (read !== undefined) return read;
    return this.#run('read', key, options.signal, () => this.#reader.read(key, options));
  }

  async readInto(key: string, target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    options.signal?.throwIfAborted();
    const read = this.#reader.readIntoBlocking(key, target, options);
    if (read !== undefined) return read;
    return this.#run('readInto', key, options.signal, () => this.#reader.readInto(key, target, options));
  }

  readMany(requests: readonly ReadRequest[], options: OperationOptions): Promise<readonly ReadOutcome[]> {
    if (!requests.some(({ isPart }) => isPart === true)) return this.#batches.readMany(requests, options);
    return readParts(this.#reader, requests, options, (some) => this.#batches.readMany(some, options));
  }

  async write(key: string, data: WriteData, options: WriteOptions): Promise<void> {
    const { signal } = options;
    const parts = partsOf(data, options.size);
    if (this.#native !== undefined && parts !== undefined)
      return this.#writeNatively(this.#native, key, parts, options);
    const writer = await this.#create('write', key, options);
    try {
      let offset = 0;
      for await (const piece of checkedPieces(this, key, data, options)) {
        await writer.writeAt(piece, { offset, signal });
        offset += piece.byteLength;
      }
      await writer.publish({ signal });
    } catch (error) {
      await writer.discard();
      signal?.throwIfAborted();
      throw error;
    }
  }

  create(key: string, options: CreateOptions): Promise<ObjectWriter> {
    return this.#create('create', key, options);
  }

  delete(key: string, { signal }: OperationOptions): Promise<void> {
    return this.#touch('delete', key, signal, async () => {
      const root = this.#root;
      if (!this.capabilities.delete) throw unsupported(this, 'delete');
      const filePath = this.#root.pathOf(key);
      try {
        await root.assertInside(path.dirname(filePath), key);
        await fs.promises.unlink(filePath);
      } catch (error) {
        // A directory is not an object, so there is nothing to delete under that key.
        if (!hasErrno(error, 'ENOENT', 'ENOTDIR', 'EISDIR')) throw error;
        const gone = await root.goneError(error);
        if (gone !== undefined) throw gone;
      }
      this.#reader.files.forget(key);
      await root.removeEmptyDirectoriesAbove(filePath);
    });
  }

  usage({ signal }: OperationOptions): Promise<DriverUsage> {
    return this.#run('usage', '', signal, async () => {
      const root = this.#root;
      let bytes = 0;
      let objects = 0;
      let blocks = 0n;
      const measure = (stat: fs.BigIntStats) => void (blocks += stat.blocks);
      for await (const page of this.#walk({ signal }, measure)) {
        objects += page.length;
        for (const { size } of page) bytes += size;
      }
      const { bavail, bsize } = await fs.promises.statfs(root.realPath);
      return { bytes, objects, freeBytes: bavail * bsize, occupiedBytes: Number(blocks) * BYTES_OF_A_BLOCK };
    });
  }

  openIndex({ signal }: OperationOptions): Promise<IndexHome> {
    return this.#run('openIndex', '', signal, async () => {
      if (!this.capabilities.index) throw unsupported(this, 'openIndex');
      const { fsync } = this.#options;
      return DirectoryHome.open({ root: this.#root, files: this.#reader.files, fsync });
    });
  }

  #walk(
    { prefix = '', leftOut, signal }: ListOptions,
    measure?: (stat: fs.BigIntStats) => void,
  ): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    const { listConcurrency: concurrency, links, writable } = this.#options;
    const { realPath: root, boundary } = this.#root;
    const what = { root, boundary, links, isSource: !writable, driver: this.name };
    const left = (ended: Promise<void>) => {
      this.#left.add(ended);
      void ended.finally(() => this.#left.delete(ended));
    };
    return walk({ ...what, prefix, concurrency, measure, leftOut, signal, left });
  }

  #writeNatively(
    native: NativeWriter,
    key: string,
    parts: readonly Uint8Array[],
    options: WriteOptions,
  ): Promise<void> {
    return this.#run('write', key, options.signal, async () => {
      await this.#pool.watch(() => native.write(key, parts, options));
      this.#reader.files.forget(key);
    });
  }

  /** Begins an object. `operation` is the caller's. Errors of the parts name it. */
  #create(operation: 'create' | 'write', key: string, options: WriteOptions): Promise<FileWriter> {
    const { size, ifAbsent = false, signal } = options;
    return this.#touch(operation, key, signal, async () => {
      if (!this.capabilities.write) throw unsupported(this, operation);
      const writer: FileWriter = await FileWriter.create({
        root: this.#root,
        key,
        filePath: this.#root.pathOf(key),
        size,
        fsync: this.#options.fsync,
        ifAbsent,
        driver: this.name,
        pool: this.#pool,
        publishing: operation === 'write' ? operation : 'publish',
        run: (part, under, work) => this.#touch(operation === 'write' ? operation : part, key, under, work),
        published: () => this.#reader.files.forget(key),
        ended: () => this.#writers.delete(writer),
      });
      this.#writers.add(writer);
      return writer;
    });
  }

  /**
   * Runs an operation after a check of the signal, and translates its errors. The signal is not checked
   * afterwards, because a published write must not be reported as aborted.
   */
  async #run<T>(
    operation: Operation,
    key: string,
    signal: AbortSignal | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      signal?.throwIfAborted();
      throw await this.#explain(error, operation, key);
    }
  }

  /** Like `#run`, for calls of Node's pool that change something. */
  #touch<T>(
    operation: Operation,
    key: string,
    signal: AbortSignal | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    return this.#run(operation, key, signal, () => this.#pool.change(signal, work));
  }

  async #explain(error: unknown, operation: Operation, key: string): Promise<unknown> {
    if (isFault(error)) this.#pool.doubt();
    if (hasErrno(error, 'ENOENT', 'ENOTDIR')) {
      const gone = await this.#opened?.goneError(error);
      if (gone !== undefined) return gone;
    }
    return fromFsError(error, this.name, operation, key);
  }

  get #root(): RootDirectory {
    if (this.#opened === undefined) throw notOpenError(this.name);
    return this.#opened;
  }
}
