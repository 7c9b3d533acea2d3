import type { OperationOptions, StorageDriver } from '@tiered/core';
import {
  inRuns,
  inSingleRanges,
  type Operation,
  type ReadIntoOptions,
  type ReadOptions,
  type ReadRequest,
} from '@tiered/core/driver';
import { allEnded, memoryFor } from '@tiered/core/internal';
import type { FileLook } from '../file-version.js';
import type { OpenFile, OpenFiles } from '../root/open-files.js';
import type { RootDirectory } from '../root/root-directory.js';
import { closeFile } from '../write/file-writes.js';
import { MOST_UNSEEN, openForReading, PIECE, readFully, statOf } from './file-calls.js';
import { assertFile, mustLookAt, sized } from './file-check.js';
import type { PoolQueue } from './pool-queue.js';
import { THREADS, type ThreadPool } from './thread-pool.js';

/**
 * Reads files by key in Node's thread pool, where there are no native threads.
 *
 * Each stat of a remote file is a request. So a file is opened, read, and checked once, at the end, if a
 * version was requested. The read finds out whether it is a regular file.
 */
export class NodeReader {
  readonly #driver: StorageDriver;
  readonly #root: () => RootDirectory;
  readonly #pool: ThreadPool;
  readonly #files: OpenFiles;
  readonly #queue: PoolQueue | undefined;
  /** Memory that no read uses now: one for each concurrent read, up to as many as the pool makes. */
  readonly #scratch: Uint8Array[] = [];

  /**
   * @param driver Named in errors.
   * @param root The root.
   * @param pool Makes the calls.
   * @param files The descriptors.
   * @param queue Watches the calls, if needed.
   */
  constructor(
    driver: StorageDriver,
    root: () => RootDirectory,
    pool: ThreadPool,
    files: OpenFiles,
    queue: PoolQueue | undefined,
  ) {
    this.#driver = driver;
    this.#root = root;
    this.#pool = pool;
    this.#files = files;
    this.#queue = queue;
  }

  /** Like `FileSystemDriver.read`. */
  read(key: string, options: ReadOptions): Promise<Uint8Array> {
    return this.#use('read', key, options, async (file) => {
      const bytes = memoryFor(await this.#roomFor(file, options), key);
      return bytes.subarray(0, await this.#readFully(file, bytes, options.offset));
    });
  }

  /** Like `FileSystemDriver.readInto`. */
  readInto(key: string, target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    return this.#use('readInto', key, options, (file) => this.#fill(file, key, target, options));
  }

  /** Reads pieces, in as many runs as there are threads. Each run opens the file. */
  async readPieces(request: ReadRequest, options: OperationOptions): Promise<number> {
    const { requests, joinCounts } = inRuns(request, THREADS);
    return joinCounts(await allEnded(requests.map((run) => this.#readRun(run, options))));
  }

  /** Reads pieces one after the other, up to the first that the file cuts short. */
  #readRun(run: ReadRequest, { signal }: OperationOptions): Promise<number> {
    const { key, version } = run;
    return this.#use('readInto', key, { offset: 0, version, signal }, async (file) => {
      let filled = 0;
      for (const { target, offset } of inSingleRanges([run]).requests) {
        signal?.throwIfAborted();
        const count = await this.#fill(file, key, target, { offset, signal });
        filled += count;
        if (count < target.byteLength) break;
      }
      return filled;
    });
  }

  #fill(file: OpenFile, key: string, target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    const { offset, signal, progress } = options;
    if (signal !== undefined && this.#pool.mayLeave) return this.#fillByScratch(file, key, target, options);
    if (progress === undefined) return this.#readFully(file, target, offset);
    return this.#fillInPieces(file, key, target, options, undefined);
  }

  /**
   * Reads into memory of its own, and copies to the caller's. A call that is left behind may write to its own
   * memory at any later time.
   */
  async #fillByScratch(
    file: OpenFile,
    key: string,
    target: Uint8Array,
    options: ReadIntoOptions,
  ): Promise<number> {
    const scratch = this.#scratch.pop() ?? memoryFor(PIECE);
    try {
      return await this.#fillInPieces(file, key, target, options, scratch);
    } finally {
      this.#scratch.push(scratch);
    }
  }

  /** Reads piece by piece, and checks the file before it reports a piece. */
  async #fillInPieces(
    file: OpenFile,
    key: string,
    target: Uint8Array,
    { offset, signal, progress }: ReadIntoOptions,
    scratch: Uint8Array | undefined,
  ): Promise<number> {
    for (let filled = 0; ;) {
      const room = target.subarray(filled, filled + PIECE);
      const piece = scratch?.subarray(0, room.byteLength) ?? room;
      const count = await this.#readFully(file, piece, offset + filled);
      signal?.throwIfAborted();
      if (scratch !== undefined) room.set(piece.subarray(0, count));
      filled += count;
      if (count < PIECE || filled === target.byteLength) return filled;
      if (progress === undefined) continue;
      await this.#lookAt('readInto', key, file, filled);
      signal?.throwIfAborted();
      progress(filled);
    }
  }

  #use<T extends Uint8Array | number>(
    operation: Operation,
    key: string,
    { version, signal }: ReadIntoOptions,
    read: (file: OpenFile) => Promise<T>,
  ): Promise<T> {
    const root = this.#root();
    const open = () => this.#open(root, key, version);
    const work = async (file: OpenFile) => {
      const result = await read(file);
      await this.#lookAt(operation, key, file, typeof result === 'number' ? result : result.byteLength);
      return result;
    };
    const call = () => {
      if (version !== undefined) this.#files.dropOther(key, version);
      return this.#files.use(key, open, work);
    };
    return this.#pool.run({ driver: this.#driver.name, operation, key }, signal, call);
  }

  /** Checks a file of which this many bytes were read, if necessary. */
  async #lookAt(operation: Operation, key: string, file: OpenFile, count: number): Promise<void> {
    if (!mustLookAt(file, count)) return;
    const now = await this.#statOf(file);
    assertFile({ driver: this.#driver, files: this.#files }, operation, key, file, now);
  }

  async #open(root: RootDirectory, key: string, version: string | undefined): Promise<OpenFile> {
    const filePath = root.pathOf(key);
    const fd = await this.#call(0, () => openForReading(filePath));
    try {
      await root.assertDescriptorInside(fd, filePath, key);
      return { fd, version, isVerified: false };
    } catch (error) {
      // A file that was only read from loses nothing if this fails.
      await closeFile(fd).catch(() => undefined);
      throw error;
    }
  }

  /** Returns the bytes of memory for a read: the requested length, but not more than the file has. */
  async #roomFor(file: OpenFile, { offset, length }: ReadOptions): Promise<number> {
    const { size } = sized(file);
    const isUnseen = size === Infinity && length > MOST_UNSEEN;
    const most = isUnseen ? Number((await this.#statOf(file)).size) : size;
    return Math.max(0, Math.min(length, most - offset));
  }

  #readFully(file: OpenFile, target: Uint8Array, position: number): Promise<number> {
    return this.#call(target.byteLength, () => readFully(sized(file), target, position));
  }

  #statOf({ fd }: OpenFile): Promise<FileLook> {
    return this.#call(0, () => statOf(fd));
  }

  #call<T>(bytes: number, call: () => Promise<T>): Promise<T> {
    return this.#queue === undefined ? call() : this.#queue.watch(bytes, call);
  }
}
