import type { Clock, OperationOptions, StorageDriver } from '@tiered/core';
import {
  inRuns,
  versionChanged,
  type Operation,
  type ReadIntoOptions,
  type ReadOptions,
  type ReadRequest,
} from '@tiered/core/driver';
import { allEnded, memoryFor, notOpenError } from '@tiered/core/internal';
import { IoThreads, NativeError } from '@tiered/native';
import { notAFile } from '../errors.js';
import { sizeIn } from '../file-version.js';
import { leavesRoot } from '../root/keys.js';
import type { OpenFile, OpenFiles } from '../root/open-files.js';
import type { RootDirectory } from '../root/root-directory.js';
import { MOST_UNSEEN, PIECE, statOf } from './file-calls.js';
import type { ThreadPool } from './thread-pool.js';

/**
 * The most bytes that the event loop's thread copies at a time, from a native thread's memory to memory that
 * may be taken away. Memory that is touched for the first time takes a millisecond per MiB.
 */
const COPIED_AT_ONCE = 4_194_304;

/** A read into the caller's memory, or into our own. */
interface Fill extends ReadIntoOptions {
  readonly operation: Operation;
  /** Whether the memory cannot be taken away meanwhile. */
  readonly areFixed: boolean;
}

/**
 * Reads files by key in native threads, as many at a time as configured. Node's own pool has four threads for
 * all files of a process, and a shared file system answers each request in milliseconds. A whole object is
 * one job: open, read, one fstat and close. The descriptors of files that are read in pieces are kept, like
 * those of the other reads.
 */
export class NativeReader {
  readonly #driver: StorageDriver;
  readonly #root: () => RootDirectory;
  readonly #pool: ThreadPool;
  readonly #files: OpenFiles;
  /** The prefix of keys, as threads know them. */
  #below = '';
  readonly #threads: number;
  readonly #clock: Clock;
  #io: IoThreads | undefined;

  /**
   * @param driver Named in errors.
   * @param root The root.
   * @param pool Learns how the storage answers.
   * @param files The descriptors.
   * @param threads Concurrent reads, 1 to 256.
   * @param clock Lets the event loop turn between copies.
   */
  constructor(
    driver: StorageDriver,
    root: () => RootDirectory,
    pool: ThreadPool,
    files: OpenFiles,
    threads: number,
    clock: Clock,
  ) {
    this.#driver = driver;
    this.#root = root;
    this.#pool = pool;
    this.#files = files;
    this.#threads = threads;
    this.#clock = clock;
  }

  /** The most files that threads may have open now. */
  get openFiles(): number {
    return this.#io === undefined ? 0 : openIn(this.#io);
  }

  /** Called when the root was opened. */
  open(): void {
    const { boundary, belowBoundary } = this.#root();
    this.#below = belowBoundary;
    this.#io = new IoThreads({ root: boundary, threads: this.#threads, mayHang: this.#pool.mayLeave });
  }

  /**
   * Reads a range at once, in the event loop's thread, from a file that is opened and closed for it.
   * @throws NativeError for any failure of the file; TieredError `TIERED_KEY_INVALID`.
   */
  readNow(key: string, target: Uint8Array, offset: number, version: string | undefined): number {
    this.#root().pathOf(key);
    return this.#open.readNow(this.#below + key, target, offset, version);
  }

  /** Whether the last `readNow` waited for the storage, and not only for the core. */
  get hasWaited(): boolean {
    return this.#open.hasWaited;
  }

  /** Like `FileSystemDriver.read`. */
  async read(key: string, options: ReadOptions): Promise<Uint8Array> {
    const { offset, length, version } = options;
    const fill = { ...options, operation: 'read', areFixed: true } as const;
    const size = sizeIn(version);
    if (size === Infinity && length > MOST_UNSEEN) return this.#readUnseen(key, length, fill);
    const bytes = memoryFor(Math.max(0, Math.min(length, size - offset)), key);
    return bytes.subarray(0, await this.#fill(key, bytes, fill));
  }

  /** Like `FileSystemDriver.readInto`. An abort returns the target at once where the storage may hang. */
  readInto(key: string, target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    return this.#fill(key, target, { ...options, operation: 'readInto', areFixed: options.isFixed === true });
  }

  /**
   * Reads several pieces. As long as there is a thread for each, they are read concurrently from one
   * descriptor. More of them are one job, in as many runs as there are threads. Each run opens the file.
   */
  readPieces(request: ReadRequest, { signal }: OperationOptions): Promise<number> {
    const { key, offset, version } = request;
    const fill = { offset, version, signal, operation: 'readInto', areFixed: false } as const;
    const { requests: runs, joinCounts } = inRuns(request, this.#threads);
    if (runs.every(({ pieces }) => pieces === undefined))
      return this.#use(key, fill, async (file) => {
        const reads = runs.map((run) =>
          this.#fillFrom(file, key, run.target, { ...fill, offset: run.offset }),
        );
        return joinCounts(await allEnded(reads));
      });
    return this.#oneJob(key, fill, async () => joinCounts(await this.#readBatch(key, runs, fill)));
  }

  /** Ends the threads. Reads in flight are aborted. */
  async close(): Promise<void> {
    const io = this.#io;
    this.#io = undefined;
    await io?.close();
  }

  #fill(key: string, target: Uint8Array, fill: Fill): Promise<number> {
    const { offset, version } = fill;
    const length = target.byteLength;
    const size = sizeIn(version);
    const isWhole = offset === 0 && length >= size && Math.min(length, size) <= mostAtOnce(target, fill);
    if (!isWhole || this.#files.has(key))
      return this.#use(key, fill, (file) => this.#fillFrom(file, key, target, fill));
    return this.#oneJob(key, fill, () => this.#open.readFile(this.#below + key, target, offset, fill));
  }

  /** Runs a job that opens the file, reads it and closes it. */
  async #oneJob(key: string, { operation, signal }: Fill, job: () => Promise<number>): Promise<number> {
    // Throws for invalid keys, or the driver's own.
    this.#root().pathOf(key);
    const opened = this.#files.opens(key);
    try {
      return await this.#pool.watchUntilAborted(signal, job);
    } catch (error) {
      throw this.#explained(error, operation, key);
    } finally {
      this.#files.closed(opened);
    }
  }

  /** Opens a file and reads parts of it. Throws the first failure. */
  async #readBatch(
    key: string,
    requests: readonly ReadRequest[],
    { signal, areFixed }: Fill,
  ): Promise<number[]> {
    const inRoot = requests.map((request) => ({ ...request, key: this.#below + key }));
    const { outcomes } = await this.#open.readMany(inRoot, { signal, areFixed });
    const failed = outcomes.find((outcome) => outcome < 0);
    if (failed === undefined) return [...outcomes];
    signal?.throwIfAborted();
    throw new NativeError(failed, 'read', JSON.stringify(key));
  }

  /** Reads an open file to its end, without knowing its size. */
  #readUnseen(key: string, length: number, fill: Fill): Promise<Uint8Array> {
    return this.#use(key, fill, async (file) => {
      const { size } = await statOf(file.fd);
      const bytes = memoryFor(Math.max(0, Math.min(length, Number(size) - fill.offset)), key);
      return bytes.subarray(0, await this.#fillFrom(file, key, bytes, fill));
    });
  }

  async #fillFrom(file: OpenFile, key: string, target: Uint8Array, fill: Fill): Promise<number> {
    const { offset, signal, progress, areFixed } = fill;
    const most = mostAtOnce(target, fill);
    for (let filled = 0; ;) {
      const piece = target.subarray(filled, filled + most);
      const options = { version: file.version, signal, areFixed };
      const { bytes, isUnlinked } = await this.#open.readAt(file.fd, piece, offset + filled, options);
      this.#assertThere(file, key, fill, isUnlinked);
      filled += bytes;
      if (bytes < piece.byteLength || filled === target.byteLength) return filled;
      // Otherwise copies that arrive fast enough would follow one another without a turn.
      if (isCopied(target, fill)) await this.#clock.turn();
      signal?.throwIfAborted();
      progress?.(filled);
    }
  }

  /** A file without a name was deleted or replaced. It is served only to reads that began before that. */
  #assertThere(file: OpenFile, key: string, { operation }: Fill, isUnlinked: boolean): void {
    if (!isUnlinked) {
      file.isVerified = true;
      return;
    }
    this.#files.forget(key);
    // Some file systems count no links: there nothing is ever verified, and each read opens its file.
    if (file.isVerified) throw versionChanged(this.#driver, operation, key);
  }

  #use<T>(key: string, fill: Fill, work: (file: OpenFile) => Promise<T>): Promise<T> {
    const { version, signal } = fill;
    const open = async () => ({
      fd: await this.#open.open(this.#below + key, { signal }),
      version,
      isVerified: false,
    });
    return this.#watch(key, fill, () => {
      if (version !== undefined) this.#files.dropOther(key, version);
      return this.#files.use(key, open, work);
    });
  }

  async #watch<T>(key: string, { operation, signal }: Fill, call: () => Promise<T>): Promise<T> {
    // Throws for invalid keys, or the driver's own.
    this.#root().pathOf(key);
    try {
      return await this.#pool.watchUntilAborted(signal, call);
    } catch (error) {
      throw this.#explained(error, operation, key);
    }
  }

  /**
   * Translates codes that the system does not have. Other errors are returned unchanged, like those of
   * `node:fs`.
   */
  #explained(error: unknown, operation: Operation, key: string): unknown {
    if (!(error instanceof NativeError)) return error;
    const { code } = error;
    if (code === 'NOT_A_FILE') return notAFile(this.#driver, operation, key);
    if (code === 'OUTSIDE') return leavesRoot(this.#driver.name, key);
    // By `close`, as its signal did not abort.
    if (code === 'ABORTED') return notOpenError(this.#driver.name);
    if (code !== 'OTHER_VERSION') return error;
    this.#files.forget(key);
    return versionChanged(this.#driver, operation, key);
  }

  get #open(): IoThreads {
    if (this.#io === undefined) throw notOpenError(this.#driver.name);
    return this.#io;
  }
}

/**
 * Returns the most files that native threads may have open. Files that wait for a thread are not open yet,
 * and those that hang still are.
 */
export function openIn(io: IoThreads): number {
  const { items, left } = io.counts;
  return items + left;
}

/** The most bytes of one job: the amount to report, or to copy, at a time. */
function mostAtOnce(target: Uint8Array, fill: Fill): number {
  if (fill.progress !== undefined) return PIECE;
  return isCopied(target, fill) ? COPIED_AT_ONCE : Infinity;
}

/** Whether the event loop's thread copies the bytes, because the memory may be taken away meanwhile. */
function isCopied({ buffer }: Uint8Array, { areFixed }: Fill): boolean {
  return !areFixed && !(buffer instanceof SharedArrayBuffer);
}
