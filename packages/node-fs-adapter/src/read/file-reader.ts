import fs from 'node:fs';
import type { OperationOptions, StorageDriver } from '@tiered/core';
import type { ReadIntoOptions, ReadOptions, ReadRequest } from '@tiered/core/driver';
import { memoryFor } from '@tiered/core/internal';
import { notAFile } from '../errors.js';
import type { CheckedFileOptions } from '../options.js';
import { OpenFiles, type OpenFile } from '../root/open-files.js';
import type { RootDirectory } from '../root/root-directory.js';
import { closeFile } from '../write/file-writes.js';
import { openForReadingBlocking, readFullyBlocking } from './file-calls.js';
import { assertFile, mustLookAt, sized } from './file-check.js';
import { BlockingMode } from './memory-speed.js';
import { NativeReader } from './native-reader.js';
import { NodeReader } from './node-reader.js';
import { PoolQueue } from './pool-queue.js';
import type { ThreadPool } from './thread-pool.js';

/**
 * Reads files by key, from descriptors that stay open between reads: at once while that is as fast as memory
 * (see `memory-speed.ts`), else in threads. These are native if available, and Node's otherwise.
 */
export class FileReader {
  /** The descriptors. */
  readonly files: OpenFiles;
  readonly #driver: StorageDriver;
  readonly #root: () => RootDirectory;
  readonly #mode: BlockingMode;
  readonly #native: NativeReader | undefined;
  readonly #threads: NativeReader | NodeReader;

  /**
   * @param driver Named in errors.
   * @param root The root.
   * @param pool Knows whether the storage answers.
   * @param options Options of the driver.
   */
  constructor(
    driver: StorageDriver,
    root: () => RootDirectory,
    pool: ThreadPool,
    { maxOpenFiles, blockingCalls, nativeThreads, writable, clock }: CheckedFileOptions,
  ) {
    this.#driver = driver;
    this.#root = root;
    const files = new OpenFiles(maxOpenFiles, (fd) => pool.change(undefined, () => closeFile(fd)));
    this.files = files;
    this.#mode = new BlockingMode(clock, pool, blockingCalls);
    if (nativeThreads > 0) this.#native = new NativeReader(driver, root, pool, files, nativeThreads, clock);
    const queue = writable ? undefined : new PoolQueue(clock, driver.name);
    this.#threads = this.#native ?? new NodeReader(driver, root, pool, files, queue);
  }

  /** The most descriptors that may be open now. */
  get openFiles(): number {
    return this.files.count + (this.#native?.openFiles ?? 0);
  }

  /** Called when the root was opened. */
  open(): void {
    this.#native?.open();
  }

  /**
   * Closes all open files, and ends threads. Reads in flight in native threads are aborted. Those in Node's
   * pool go on, and close their file when they end.
   */
  async close(): Promise<void> {
    await Promise.all([this.#native?.close(), this.files.close()]);
  }

  /** Reads at once. Undefined if a thread has to do it. */
  readBlocking(key: string, { offset, length, version }: ReadOptions): Uint8Array | undefined {
    return this.#attempt(length, () => {
      const bytes = memoryFor(length, key);
      const count = this.#fillBlocking(key, bytes, offset, version);
      return count === length ? bytes : bytes.subarray(0, count);
    });
  }

  /** Like `readBlocking`, into the caller's memory. */
  readIntoBlocking(
    key: string,
    target: Uint8Array,
    { offset, version }: ReadIntoOptions,
  ): number | undefined {
    return this.#attempt(target.byteLength, () => this.#fillBlocking(key, target, offset, version));
  }

  /** Reads in a thread, or after a turn of the event loop, if `readBlocking` waited for one. */
  read(key: string, options: ReadOptions): Promise<Uint8Array> {
    if (!this.#mode.isTurnDue) return this.#threads.read(key, options);
    return this.afterTurn(() => this.readBlocking(key, options)).then(
      (read) => read ?? this.#threads.read(key, options),
    );
  }

  /** Like `read`, into the caller's memory. */
  readInto(key: string, target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    if (!this.#mode.isTurnDue) return this.#threads.readInto(key, target, options);
    return this.afterTurn(() => this.readIntoBlocking(key, target, options)).then(
      (read) => read ?? this.#threads.readInto(key, target, options),
    );
  }

  /**
   * Reads several pieces in threads, like `readInto` for one range. Opens the file once for each concurrent
   * read, or less often.
   */
  readPieces(request: ReadRequest, options: OperationOptions): Promise<number> {
    return this.#threads.readPieces(request, options);
  }

  /** Whether a read may not block only because the event loop has to turn first. */
  get isTurnDue(): boolean {
    return this.#mode.isTurnDue;
  }

  /**
   * Makes a blocking read that waited only for the event loop to turn. Undefined if there was none, or if it
   * still may not block.
   */
  async afterTurn<T>(read: () => T | undefined): Promise<T | undefined> {
    if (!this.#mode.isTurnDue) return undefined;
    await this.#mode.turn();
    return read();
  }

  /** The thread pool closes files that blocking reads have opened, which limits how many they open. */
  #attempt<T>(length: number, read: () => T): T | undefined {
    return this.files.isBehind ? undefined : this.#mode.attempt(length, read);
  }

  /**
   * A file is worth keeping open only if it is read again. Opening it here and closing it later in a thread
   * costs several times as much as one call that does everything.
   */
  #fillBlocking(key: string, target: Uint8Array, offset: number, version: string | undefined): number {
    if (this.#native !== undefined && !this.files.isAskedAgain(key)) {
      const count = this.#native.readNow(key, target, offset, version);
      if (!this.#native.hasWaited) this.#mode.hasNotWaited();
      return count;
    }
    if (version !== undefined) this.files.dropOther(key, version);
    const open = () => this.#openBlocking(key, version);
    return this.files.useBlocking(key, open, (file) => {
      const count = readFullyBlocking(sized(file), target, offset);
      if (mustLookAt(file, count)) {
        const now = fs.fstatSync(file.fd, { bigint: true });
        assertFile({ driver: this.#driver, files: this.files }, 'read', key, file, now);
      }
      return count;
    });
  }

  #openBlocking(key: string, version: string | undefined): OpenFile {
    const root = this.#root();
    const fd = openForReadingBlocking(root.pathOf(key));
    try {
      if (root.saysInside(fd, key)) return { fd, version, isVerified: false };
      throw notAFile(this.#driver, 'read', key);
    } catch (error) {
      fs.closeSync(fd);
      throw error;
    }
  }
}
