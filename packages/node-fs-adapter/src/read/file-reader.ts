import fs from 'node:fs';
import type { StorageDriver } from '@tiered/core';
import type { OperationOptions } from '@tiered/core';
import {
  inRuns,
  inSingleRanges,
  versionChanged,
  type Operation,
  type ReadIntoOptions,
  type ReadOptions,
  type ReadRequest,
} from '@tiered/core/driver';
import { allEnded, memoryFor } from '@tiered/core/internal';
import { BlockingMode } from './blocking-mode.js';
import { nodeCalls, openForReadingBlocking, readFully, type FileLook, type ReadCalls } from './file-reads.js';
import { isSame } from '../list/listing.js';
import { notAFile } from '../errors.js';
import { NativeReader } from './native-reader.js';
import { OpenFiles, type OpenFile } from '../root/open-files.js';
import type { CheckedFileOptions } from '../options.js';
import { readFullyBlocking, sizeIn, versionOf } from './thread/file-calls.js';
import type { RootDirectory } from '../root/root-directory.js';
import { SlowCalls } from './slow-calls.js';
import { THREADS, type ThreadPool } from './thread-pool.js';
import { MOST_UNSEEN, PIECE } from './sizes.js';

/**
 * Reads files by key, from descriptors that stay open between reads.
 *
 * Where files are remote, each look at one is a request. So a file is opened, read, and looked at once, at
 * the end, if a version was asked for. What is not a regular file turns out when it is read.
 */
export class FileReader {
  /** The descriptors. */
  readonly files: OpenFiles;
  readonly #driver: StorageDriver;
  readonly #root: () => RootDirectory;
  readonly #pool: ThreadPool;
  readonly #mode: BlockingMode;
  readonly #native: NativeReader | undefined;
  readonly #slow: SlowCalls | undefined;
  readonly #calls: ReadCalls;
  /**
   * Memory that no read uses at the moment: one for each read that was under way at the same time, up to as
   * many as the pool makes.
   */
  readonly #scratch: Uint8Array[] = [];

  constructor(
    driver: StorageDriver,
    root: () => RootDirectory,
    pool: ThreadPool,
    { maxOpenFiles, blockingCalls, nativeThreads, workerThreads, clock }: CheckedFileOptions,
  ) {
    this.#driver = driver;
    this.#root = root;
    this.#pool = pool;
    if (workerThreads > 0) this.#slow = new SlowCalls(clock, workerThreads);
    this.#calls = this.#slow ?? nodeCalls;
    this.files = new OpenFiles(maxOpenFiles, {
      close: (fd) => pool.change(undefined, () => this.#calls.close(fd)),
    });
    this.#mode = new BlockingMode(clock, pool, blockingCalls);
    if (nativeThreads > 0)
      this.#native = new NativeReader(driver, root, pool, this.files, nativeThreads, clock);
  }

  /** The most descriptors that are open now. */
  get openFiles(): number {
    return this.files.count + (this.#native?.openFiles ?? 0);
  }

  /** The root was opened. */
  open(): void {
    this.#native?.open();
    this.#slow?.begin();
  }

  /**
   * Closes all that is open, and ends threads. Reads under way in native threads are aborted. Reads in
   * workers go on, and are waited for.
   */
  async close(): Promise<void> {
    await Promise.all([this.#native?.close(), this.files.close()]);
    await this.#slow?.end();
  }

  /** Reads at once; undefined if the thread pool has to do it. */
  readBlocking(key: string, { offset, length, version }: ReadOptions): Uint8Array | undefined {
    return this.#attempt(length, () => {
      const bytes = memoryFor(length, key);
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
    return this.#attempt(target.byteLength, () => this.#fillBlocking(key, target, offset, version));
  }

  /** Files that blocking reads have opened are closed in the thread pool, which bounds how many they open. */
  #attempt<T>(length: number, read: () => T): T | undefined {
    return this.files.isBehind ? undefined : this.#mode.attempt(length, read);
  }

  /** Reads in the thread pool, or after a turn of the event loop, if `readBlocking` waited for one. */
  async read(key: string, options: ReadOptions): Promise<Uint8Array> {
    const read = await this.afterTurn(() => this.readBlocking(key, options));
    if (read !== undefined) return read;
    if (this.#native !== undefined) return this.#native.read(key, options);
    return this.#use('read', key, options, async (file) => {
      const bytes = memoryFor(await roomFor(file, options, this.#calls), key);
      return bytes.subarray(0, await this.#fill(file, bytes, options.offset));
    });
  }

  /** As `read`, into the caller's memory. */
  async readInto(key: string, target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    const read = await this.afterTurn(() => this.readIntoBlocking(key, target, options));
    if (read !== undefined) return read;
    if (this.#native !== undefined) return this.#native.readInto(key, target, options);
    return this.#use('readInto', key, options, (file) => this.#fillFrom(file, key, target, options));
  }

  /**
   * Reads several pieces, as `readInto` reads one range. Opens the file once for each read that is made at
   * the same time, or less often.
   */
  async readPieces(request: ReadRequest, options: OperationOptions): Promise<number> {
    if (this.#native !== undefined) return this.#native.readPieces(request, options);
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
        const count = await this.#fillFrom(file, key, target, { offset, signal });
        filled += count;
        if (count < target.byteLength) break;
      }
      return filled;
    });
  }

  #fillFrom(file: OpenFile, key: string, target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    const { offset, signal, progress } = options;
    if (signal !== undefined && this.#pool.mayLeave) return this.#readByScratch(key, file, target, options);
    if (progress === undefined) return this.#fill(file, target, offset);
    return this.#readInPieces(key, file, target, options, undefined);
  }

  #fill(file: OpenFile, target: Uint8Array, position: number): Promise<number> {
    return readFully(expected(file), target, position, this.#calls);
  }

  /** Whether a read may not block only because the event loop has to turn first. */
  get isTurnDue(): boolean {
    return this.#mode.isTurnDue;
  }

  /**
   * Makes a blocking read that waited only for the event loop to turn; undefined if there was none, or if it
   * still may not block.
   */
  async afterTurn<T>(read: () => T | undefined): Promise<T | undefined> {
    if (!this.#mode.isTurnDue) return undefined;
    await this.#mode.turn();
    return read();
  }

  #fillBlocking(key: string, target: Uint8Array, offset: number, version: string | undefined): number {
    if (version !== undefined) this.files.dropOther(key, version);
    return this.files.useBlocking(
      key,
      () => this.#openBlocking(key, version),
      (file) => {
        const count = readFullyBlocking(expected(file), target, offset);
        if (mustLookAt(file, count)) this.#assertFile('read', key, file, fstatBlocking(file.fd));
        return count;
      },
    );
  }

  #use<T extends Uint8Array | number>(
    operation: Operation,
    key: string,
    { version, signal }: ReadIntoOptions,
    read: (file: OpenFile) => Promise<T>,
  ): Promise<T> {
    const root = this.#root();
    return this.#pool.run({ driver: this.#driver.name, operation, key }, signal, () => {
      if (version !== undefined) this.files.dropOther(key, version);
      return this.files.use(
        key,
        () => open(root, key, version, this.#calls),
        async (file) => {
          const result = await read(file);
          const count = typeof result === 'number' ? result : result.byteLength;
          if (mustLookAt(file, count))
            this.#assertFile(operation, key, file, await this.#calls.stat(file.fd));
          return result;
        },
      );
    });
  }

  /**
   * Reads into memory of its own, and copies to the caller's. A call that is left behind may write to the
   * former at any later time.
   */
  async #readByScratch(
    key: string,
    file: OpenFile,
    target: Uint8Array,
    options: ReadIntoOptions,
  ): Promise<number> {
    const scratch = this.#scratch.pop() ?? memoryFor(PIECE);
    try {
      return await this.#readInPieces(key, file, target, options, scratch);
    } finally {
      this.#scratch.push(scratch);
    }
  }

  /** Reads piece by piece, and looks at the file before it says that one is there. */
  async #readInPieces(
    key: string,
    file: OpenFile,
    target: Uint8Array,
    { offset, signal, progress }: ReadIntoOptions,
    scratch: Uint8Array | undefined,
  ): Promise<number> {
    for (let filled = 0; ;) {
      const room = target.subarray(filled, filled + PIECE);
      const piece = scratch?.subarray(0, room.byteLength) ?? room;
      const count = await this.#fill(file, piece, offset + filled);
      signal?.throwIfAborted();
      if (scratch !== undefined) room.set(piece.subarray(0, count));
      filled += count;
      if (count < PIECE || filled === target.byteLength) return filled;
      if (progress === undefined) continue;
      if (mustLookAt(file, filled)) this.#assertFile('readInto', key, file, await this.#calls.stat(file.fd));
      signal?.throwIfAborted();
      progress(filled);
    }
  }

  /** Called after the bytes were read, because a file may be changed while it is read. */
  #assertFile(operation: Operation, key: string, file: OpenFile, now: FileLook): void {
    if (!now.isFile()) throw notAFile(this.#driver, operation, key);
    const { version, verified, isVerified } = file;
    if (version === undefined) return;
    const isSameVersion = verified === undefined ? version === versionOf(now) : isSame(verified, now);
    // The name is gone, or belongs to another file. Only the descriptor still leads here.
    const isUnlinked = now.nlink === 0n;
    if (isSameVersion && !isUnlinked) {
      file.isVerified = true;
      file.verified ??= now;
      return;
    }
    this.files.forget(key);
    // A file that nobody has found here before was there when its read began; and some file systems count no
    // links.
    if (isSameVersion && !isVerified) return;
    throw versionChanged(this.#driver, operation, key);
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

async function open(
  root: RootDirectory,
  key: string,
  version: string | undefined,
  calls: ReadCalls,
): Promise<OpenFile> {
  const filePath = root.pathOf(key);
  const fd = await calls.open(filePath);
  try {
    await root.assertDescriptorInside(fd, filePath, key);
    return { fd, version, isVerified: false };
  } catch (error) {
    // A file that was only read from loses nothing if this fails.
    await calls.close(fd).catch(() => undefined);
    throw error;
  }
}

/** Returns a file with its size, if the version tells it. */
function expected({ fd, version }: OpenFile): { readonly fd: number; readonly size: number } {
  return { fd, size: sizeIn(version) };
}

/**
 * Whether the file has to be looked at: to check its version, or, if nothing was read, that it is a file at
 * all.
 */
function mustLookAt({ version }: OpenFile, count: number): boolean {
  return version !== undefined || count === 0;
}

/** Returns the bytes of memory for a read: what was asked for, but not more than there may be. */
async function roomFor(file: OpenFile, { offset, length }: ReadOptions, calls: ReadCalls): Promise<number> {
  const { size } = expected(file);
  const isUnseen = size === Infinity && length > MOST_UNSEEN;
  return Math.max(0, Math.min(length, (isUnseen ? Number((await calls.stat(file.fd)).size) : size) - offset));
}

function fstatBlocking(fd: number): fs.BigIntStats {
  return fs.fstatSync(fd, { bigint: true });
}
