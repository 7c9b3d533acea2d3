import fs from 'node:fs';
import {
  TieredError,
  versionChanged,
  type Operation,
  type ReadIntoOptions,
  type ReadOptions,
  type StorageDriver,
} from '@tiered/core';
import { memoryFor } from '@tiered/core/internal';
import { BlockingMode } from './blocking-mode.js';
import { openForReading, openForReadingBlocking, readFully, statOf } from './file-reads.js';
import { isSame } from './listing.js';
import { openFile, OpenFiles, type OpenFile } from './open-files.js';
import type { FileSystemDriverOptions } from './options.js';
import { readFullyBlocking } from './reader-thread/file-calls.js';
import type { RootDirectory } from './root-directory.js';

/** Reads of files by key, from descriptors that stay open between them. */
export class FileReader {
  /** The descriptors. */
  readonly files: OpenFiles;
  readonly #driver: StorageDriver;
  readonly #root: () => RootDirectory;
  readonly #mode: BlockingMode;

  constructor(
    driver: StorageDriver,
    root: () => RootDirectory,
    { maxOpenFiles, blockingCalls, clock }: Required<FileSystemDriverOptions>,
  ) {
    this.#driver = driver;
    this.#root = root;
    this.files = new OpenFiles(maxOpenFiles, blockingCalls);
    this.#mode = new BlockingMode(clock, blockingCalls);
  }

  /** Reads at once; undefined if the thread pool is to do it. */
  readBlocking(key: string, { offset, length, version }: ReadOptions): Uint8Array | undefined {
    return this.#mode.attempt(length, () => {
      const bytes = memoryFor(length);
      const count = this.#fillBlocking(key, bytes, offset, version);
      return count === length ? bytes : bytes.subarray(0, count);
    });
  }

  /** As `readBlocking`, into the caller's memory. */
  readIntoBlocking(
    key: string,
    target: Uint8Array,
    { offset, version }: ReadIntoOptions,
  ): number | undefined {
    return this.#mode.attempt(target.byteLength, () => this.#fillBlocking(key, target, offset, version));
  }

  /** Reads in the thread pool, or after a turn of the event loop, if `readBlocking` waited for one. */
  async read(key: string, options: ReadOptions): Promise<Uint8Array> {
    const read = await this.#afterTurn(() => this.readBlocking(key, options));
    if (read !== undefined) return read;
    const { offset, length, version } = options;
    return this.#use('read', key, version, async (file) => {
      const bytes = memoryFor(Math.max(0, Math.min(length, file.size - offset)));
      return bytes.subarray(0, await readFully(file, bytes, offset));
    });
  }

  /** As `read`, into the caller's memory. */
  async readInto(key: string, target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    const read = await this.#afterTurn(() => this.readIntoBlocking(key, target, options));
    if (read !== undefined) return read;
    const { offset, version } = options;
    return this.#use('readInto', key, version, (file) => readFully(file, target, offset));
  }

  /** A blocking read that waited only for the event loop to turn; undefined if there was none, or it may not block still. */
  async #afterTurn<T>(read: () => T | undefined): Promise<T | undefined> {
    if (!this.#mode.isTurnDue) return undefined;
    await this.#mode.turn();
    return read();
  }

  #fillBlocking(key: string, target: Uint8Array, offset: number, version: string | undefined): number {
    if (version !== undefined) this.files.dropOther(key, version);
    return this.files.useBlocking(
      key,
      () => this.#openBlocking(key),
      (file) => {
        const count = readFullyBlocking(file, target, offset);
        if (version !== undefined) this.#assertVersion('read', key, version, file, fstatBlocking(file.fd));
        return count;
      },
    );
  }

  #use<T>(
    operation: Operation,
    key: string,
    version: string | undefined,
    read: (file: OpenFile) => Promise<T>,
  ): Promise<T> {
    if (version !== undefined) this.files.dropOther(key, version);
    return this.files.use(
      key,
      () => this.#open(operation, key),
      async (file) => {
        const result = await read(file);
        if (version !== undefined) this.#assertVersion(operation, key, version, file, await statOf(file.fd));
        return result;
      },
    );
  }

  /** Called after the bytes were read, because a file may be changed while it is read. */
  #assertVersion(
    operation: Operation,
    key: string,
    version: string,
    file: OpenFile,
    now: fs.BigIntStats,
  ): void {
    if (file.version === version && isSame(file.stat, now)) return;
    this.files.forget(key);
    throw versionChanged(this.#driver, operation, key);
  }

  #openBlocking(key: string): OpenFile {
    const fd = openForReadingBlocking(this.#root().pathOf(key));
    try {
      const stat = fstatBlocking(fd);
      if (this.#root().saysInside(fd, key) && stat.isFile()) return openFile(fd, stat);
      throw notAFile(this.#driver, 'read', key);
    } catch (error) {
      fs.closeSync(fd);
      throw error;
    }
  }

  async #open(operation: Operation, key: string): Promise<OpenFile> {
    const filePath = this.#root().pathOf(key);
    const fd = await openForReading(filePath);
    try {
      await this.#root().assertDescriptorInside(fd, filePath, key);
      const stat = await statOf(fd);
      if (!stat.isFile()) throw notAFile(this.#driver, operation, key);
      return openFile(fd, stat);
    } catch (error) {
      fs.closeSync(fd);
      throw error;
    }
  }
}

/** The error of a key under which there is something else. */
export function notAFile(driver: StorageDriver, operation: Operation, key: string): TieredError {
  return new TieredError(
    'TIERED_NOT_FOUND',
    `${driver.name}: ${JSON.stringify(key)} is not a regular file.`,
    {
      driver: driver.name,
      operation,
      key,
    },
  );
}

function fstatBlocking(fd: number): fs.BigIntStats {
  return fs.fstatSync(fd, { bigint: true });
}
