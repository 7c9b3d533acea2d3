import fs from 'node:fs';
import path from 'node:path';
import {
  checkedPieces,
  readEach,
  TieredError,
  unsupported,
  type DriverCapabilities,
  type DriverUsage,
  type ListOptions,
  type ObjectStat,
  type Operation,
  type OperationOptions,
  type ReadIntoOptions,
  type ReadOptions,
  type ReadOutcome,
  type ReadRequest,
  type StorageDriver,
  type WriteData,
  type WriteOptions,
} from '@tiered/core';
import { invariant } from '@tiered/core/internal';
import { writeAtomically } from './atomic-write.js';
import { fromFsError, hasErrno } from './errors.js';
import {
  openForReading,
  openForReadingBlocking,
  readFully,
  readFullyBlocking,
  statOf,
} from './file-reads.js';
import { pathOfKey } from './keys.js';
import { describe, walk } from './listing.js';
import { OpenFiles, type OpenFile } from './open-files.js';
import { checkedOptions, type FileSystemDriverOptions } from './options.js';
import { ReadMode } from './read-mode.js';
import { RootDirectory } from './root-directory.js';

/**
 * Objects as files below a directory: a source on a shared file system, or a tier on a local disk.
 *
 * Keys cannot leave the root: `..`, absolute keys, NUL and symbolic links that lead outside are
 * `TIERED_KEY_INVALID`. Reads are positioned reads on descriptors that stay open between calls; a file that was
 * replaced under the same name is noticed by the next `stat`. Abort is looked at before each system call: one
 * that is under way cannot be stopped. Small reads of a tier block for as long as they are as fast as memory.
 */
export class FileSystemDriver implements StorageDriver {
  readonly name: string;
  readonly capabilities: DriverCapabilities;
  readonly #path: string;
  readonly #options: Required<FileSystemDriverOptions>;
  readonly #files: OpenFiles;
  readonly #mode: ReadMode;
  #opened: RootDirectory | undefined;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work. */
  constructor(options: FileSystemDriverOptions) {
    this.#options = checkedOptions(options);
    this.name = `fs:${this.#options.root}`;
    this.#path = path.resolve(this.#options.root);
    const { writable } = this.#options;
    this.capabilities = Object.freeze({
      list: true,
      write: writable,
      delete: writable,
      usage: true,
      sharedViews: false,
      persistent: true,
    });
    this.#files = new OpenFiles(this.#options.maxOpenFiles, this.#options.blockingReads);
    this.#mode = new ReadMode(this.#options.clock, this.#options.blockingReads);
  }

  /** The directory: its real path while the driver is open, else as it was given. */
  get location(): string {
    const directory = this.#opened?.realPath ?? this.#path;
    return `file://${path.posix.join('/', directory.replaceAll(path.sep, '/'), '/')}`;
  }

  /** Descriptors that are open now; zero after `close`. */
  get openFiles(): number {
    return this.#files.count;
  }

  open({ signal }: OperationOptions): Promise<void> {
    return this.#run('open', '', signal, async () => {
      this.#opened = await RootDirectory.open(this.#options.root, this.#options.writable, this.name);
    });
  }

  async close(): Promise<void> {
    await this.#files.close();
    this.#opened = undefined;
  }

  stat(key: string, { signal }: OperationOptions): Promise<ObjectStat> {
    return this.#run('stat', key, signal, async () => {
      try {
        const realPath = await this.#root.assertInside(this.#pathOf(key), key);
        const stat = await fs.promises.stat(realPath, { bigint: true });
        if (!stat.isFile()) throw this.#notAFile('stat', key);
        const found = describe(key, stat);
        this.#files.keepOnly(key, found.version);
        return found;
      } catch (error) {
        this.#files.forget(key);
        throw error;
      }
    });
  }

  async *list({ prefix = '', signal }: ListOptions): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    try {
      yield* walk(this.#root.realPath, prefix, signal);
    } catch (error) {
      throw await this.#explain(error, 'list', '');
    }
  }

  async read(key: string, { offset, length, signal }: ReadOptions): Promise<Uint8Array> {
    if (this.#mode.mayBlock(length)) {
      const bytes = memoryFor(length);
      const count = this.#tryBlocking(key, bytes, offset, signal);
      if (count !== undefined) return count === length ? bytes : bytes.subarray(0, count);
    }
    return this.#withFile('read', key, signal, async (file) => {
      const bytes = memoryFor(Math.max(0, Math.min(length, file.size - offset)));
      return bytes.subarray(0, await readFully(file, bytes, offset));
    });
  }

  async readInto(key: string, target: Uint8Array, { offset, signal }: ReadIntoOptions): Promise<number> {
    if (this.#mode.mayBlock(target.byteLength)) {
      const count = this.#tryBlocking(key, target, offset, signal);
      if (count !== undefined) return count;
    }
    return this.#withFile('readInto', key, signal, (file) => readFully(file, target, offset));
  }

  readMany(requests: readonly ReadRequest[], options: OperationOptions): Promise<readonly ReadOutcome[]> {
    return readEach(this, requests, options);
  }

  write(key: string, data: WriteData, options: WriteOptions): Promise<void> {
    return this.#run('write', key, options.signal, async () => {
      if (!this.capabilities.write) throw unsupported(this, 'write');
      await writeAtomically({
        root: this.#root,
        key,
        filePath: this.#pathOf(key),
        pieces: checkedPieces(this, key, data, options),
        size: options.size,
        fsync: this.#options.fsync,
        driver: this.name,
        signal: options.signal,
      });
      this.#files.forget(key);
    });
  }

  delete(key: string, { signal }: OperationOptions): Promise<void> {
    return this.#run('delete', key, signal, async () => {
      const root = this.#root;
      if (!this.capabilities.delete) throw unsupported(this, 'delete');
      const filePath = this.#pathOf(key);
      try {
        await root.assertInside(path.dirname(filePath), key);
        await fs.promises.unlink(filePath);
      } catch (error) {
        // A directory is no object: whoever asks for that key to go has what they want.
        if (!hasErrno(error, 'ENOENT', 'ENOTDIR', 'EISDIR')) throw error;
        const gone = await root.goneError(error);
        if (gone !== undefined) throw gone;
      }
      this.#files.forget(key);
      await root.removeEmptyDirectoriesAbove(filePath);
    });
  }

  usage({ signal }: OperationOptions): Promise<DriverUsage> {
    return this.#run('usage', '', signal, async () => {
      const root = this.#root;
      let bytes = 0;
      let objects = 0;
      for await (const page of walk(root.realPath, '', signal)) {
        objects += page.length;
        for (const { size } of page) bytes += size;
      }
      const { bavail, bsize } = await fs.promises.statfs(root.realPath);
      return { bytes, objects, freeBytes: bavail * bsize };
    });
  }

  /**
   * Runs an operation after a look at the signal, and says what its errors mean. Not looked at afterwards: what has
   * happened has happened, and a write that was published must not be reported as aborted.
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

  /** A read at once; undefined if it has an error to explain: the thread pool meets the same, and has the time. */
  #tryBlocking(
    key: string,
    target: Uint8Array,
    offset: number,
    signal: AbortSignal | undefined,
  ): number | undefined {
    if (signal?.aborted === true) return undefined;
    try {
      return this.#mode.blocking(target.byteLength, () =>
        this.#files.useBlocking(
          key,
          () => this.#openFileBlocking(key),
          (file) => readFullyBlocking(file, target, offset),
        ),
      );
    } catch {
      return undefined;
    }
  }

  #openFileBlocking(key: string): OpenFile {
    const fd = openForReadingBlocking(this.#pathOf(key));
    try {
      const stat = fs.fstatSync(fd, { bigint: true });
      if (this.#root.saysInside(fd, key) && stat.isFile()) {
        return { fd, size: Number(stat.size), stat };
      }
      throw this.#notAFile('read', key);
    } catch (error) {
      fs.closeSync(fd);
      throw error;
    }
  }

  #withFile<T>(
    operation: Operation,
    key: string,
    signal: AbortSignal | undefined,
    work: (file: OpenFile) => Promise<T>,
  ): Promise<T> {
    return this.#run(operation, key, signal, () =>
      this.#files.use(key, () => this.#openFile(operation, key), work),
    );
  }

  async #openFile(operation: Operation, key: string): Promise<OpenFile> {
    const filePath = this.#pathOf(key);
    const fd = await openForReading(filePath);
    try {
      await this.#root.assertDescriptorInside(fd, filePath, key);
      const stat = await statOf(fd);
      if (!stat.isFile()) throw this.#notAFile(operation, key);
      return { fd, size: Number(stat.size), stat };
    } catch (error) {
      fs.closeSync(fd);
      throw error;
    }
  }

  async #explain(error: unknown, operation: Operation, key: string): Promise<unknown> {
    if (hasErrno(error, 'ENOENT', 'ENOTDIR')) {
      const gone = await this.#opened?.goneError(error);
      if (gone !== undefined) return gone;
    }
    return fromFsError(error, this.name, operation, key);
  }

  #notAFile(operation: Operation, key: string): TieredError {
    return new TieredError(
      'TIERED_NOT_FOUND',
      `${this.name}: ${JSON.stringify(key)} is not a regular file.`,
      {
        driver: this.name,
        operation,
        key,
      },
    );
  }

  #pathOf(key: string): string {
    return pathOfKey(this.#root.realPath, key, this.name);
  }

  get #root(): RootDirectory {
    invariant(this.#opened !== undefined, `${this.name} was used before open() or after close()`);
    return this.#opened;
  }
}

/** Memory for a read: not zeroed, and not of Node's shared pool, so that it can be transferred. */
function memoryFor(length: number): Uint8Array {
  return new Uint8Array(Buffer.allocUnsafeSlow(length).buffer);
}
