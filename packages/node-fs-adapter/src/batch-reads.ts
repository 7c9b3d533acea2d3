import {
  readEach,
  type OperationOptions,
  type ReadOutcome,
  type ReadRequest,
  type StorageDriver,
} from '@tiered/core';
import { timesOfMemory } from './blocking-mode.js';
import { problemOf } from './keys.js';
import { Pauses } from './pauses.js';
import { COLUMNS, FIRST, NOT_READ, type Batch } from './reader-thread/batch.js';
import { ReaderThreads } from './reader-threads.js';
import type { RootDirectory } from './root-directory.js';
import type { ThreadPool } from './thread-pool.js';

/**
 * Batches that are not given to threads after a slow one. Few: a thread that waits for a disk delays nobody but its batch,
 * and storage gets fast as soon as a first epoch has brought it into memory.
 */
const FIRST_PAUSE = 1;
const LAST_PAUSE = 64;

/** For so long another program may have had the core, in milliseconds: that says nothing about the storage. */
const SLICE_MS = 4;

/**
 * Bytes of reads that a message is worth: a batch of twice as many is shared by two threads. To open a file takes about
 * as long as to read so many.
 */
const WORTH_A_MESSAGE = 2 * 1024 * 1024;
const BYTES_OF_AN_OPEN = 64 * 1024;

const POSSIBLE_VERSION = /^[\w-]+$/;

/**
 * Batches of reads, by one of two ways. *Threads* read into shared memory by blocking calls: on files that are in memory
 * that is several times as fast as promises. The *driver's single reads*, all under way at once, are what slow storage
 * wants, where a thread would wait for one file after the other.
 *
 * The threads' own times decide: a slow batch sends the next ones the other way, and one in many is tried again. What a
 * thread could not read the driver reads anew, so the outcomes, errors too, are those of single reads.
 */
export class BatchReads {
  readonly #driver: StorageDriver;
  readonly #root: () => RootDirectory;
  readonly #pool: ThreadPool;
  readonly #most: number;
  readonly #pauses = new Pauses(FIRST_PAUSE, LAST_PAUSE);
  #threads: ReaderThreads | undefined;

  /**
   * @param driver Makes the single reads.
   * @param root The root.
   * @param pool Knows whether the storage answers.
   * @param most Threads at most. Only Linux says what was opened, so that elsewhere there are none.
   */
  constructor(driver: StorageDriver, root: () => RootDirectory, pool: ThreadPool, most: number) {
    this.#driver = driver;
    this.#root = root;
    this.#pool = pool;
    this.#most = process.platform === 'linux' ? most : 0;
  }

  /** Files that threads have open now, at most. */
  get openFiles(): number {
    return this.#threads?.busy ?? 0;
  }

  /** As `StorageDriver.readMany`. An abort ends it when the threads have let go of the targets. */
  async readMany(
    requests: readonly ReadRequest[],
    options: OperationOptions,
  ): Promise<readonly ReadOutcome[]> {
    const memories = this.#most > 0 && options.signal?.aborted !== true ? memoriesOf(requests) : undefined;
    if (memories === undefined || !this.#areThreadsReady || !this.#pool.isProven || this.#pauses.leaveOut())
      return readEach(this.#driver, requests, options);
    const parts = Math.min(this.#most, requests.length, messagesFor(requests));
    if (parts <= 1) return this.#readPart(requests, memories, options);
    const length = Math.ceil(requests.length / parts);
    const outcomes = Array.from({ length: parts }, (_, i) =>
      this.#readPart(requests.slice(i * length, (i + 1) * length), memories, options),
    );
    return (await Promise.all(outcomes)).flat();
  }

  /** Ends the threads. No batch is under way. */
  async close(): Promise<void> {
    const threads = this.#threads;
    this.#threads = undefined;
    await threads?.close();
  }

  async #readPart(
    requests: readonly ReadRequest[],
    memories: readonly SharedArrayBuffer[],
    options: OperationOptions,
  ): Promise<readonly ReadOutcome[]> {
    const numbers = numbersOf(requests, memories);
    const batch = { numbers: numbers.buffer, ...textsOf(requests), memories };
    const ms = await this.#pool.watch(async () => this.#threads?.read(batch, options.signal));
    // It may hang, so that the event loop must not be the next to wait there.
    if (ms === undefined) this.#pool.doubt();
    const outcomes: ReadOutcome[] = [];
    const unread: number[] = [];
    let bytes = 0;
    for (let i = 0; i < requests.length; i++) {
      const count = numbers[FIRST + i * COLUMNS] ?? NOT_READ;
      if (count === NOT_READ) unread.push(i);
      else bytes += count;
      outcomes.push({ bytes: count });
    }
    const files = requests.length - unread.length;
    // Threads that could read nothing are of no use, however fast.
    const isOfUse = files > 0 && ms !== undefined;
    this.#pauses.learn(isOfUse ? timesOfMemory(ms - SLICE_MS, files, bytes) : Infinity);
    return unread.length === 0 ? outcomes : this.#readAgain(requests, unread, outcomes, options);
  }

  get #areThreadsReady(): boolean {
    this.#threads ??= new ReaderThreads(
      { root: this.#root().realPath, mayHang: this.#pool.mayLeave },
      this.#most,
    );
    return this.#threads.ready;
  }

  /** Makes the reads that no thread could, singly, and puts their outcomes in place. */
  async #readAgain(
    requests: readonly ReadRequest[],
    unread: readonly number[],
    outcomes: ReadOutcome[],
    options: OperationOptions,
  ): Promise<readonly ReadOutcome[]> {
    const again = unread.flatMap((index) => requests[index] ?? []);
    const found = (await readEach(this.#driver, again, options)).values();
    for (const index of unread) {
      const { value } = found.next();
      if (value !== undefined) outcomes[index] = value;
    }
    return outcomes;
  }
}

/** The memories of the targets; undefined if one of them is not shared, or there is none. */
function memoriesOf(requests: readonly ReadRequest[]): SharedArrayBuffer[] | undefined {
  const memories: SharedArrayBuffer[] = [];
  for (const { target } of requests) {
    const { buffer } = target;
    if (!(buffer instanceof SharedArrayBuffer)) return undefined;
    if (!memories.includes(buffer)) memories.push(buffer);
  }
  return memories.length === 0 ? undefined : memories;
}

/** How many messages a batch is worth. */
function messagesFor(requests: readonly ReadRequest[]): number {
  let bytes = requests.length * BYTES_OF_AN_OPEN;
  for (const { target } of requests) bytes += target.byteLength;
  return Math.floor(bytes / WORTH_A_MESSAGE);
}

function numbersOf(
  requests: readonly ReadRequest[],
  memories: readonly SharedArrayBuffer[],
): Float64Array<SharedArrayBuffer> {
  const bytes = (FIRST + requests.length * COLUMNS) * Float64Array.BYTES_PER_ELEMENT;
  const numbers = new Float64Array(new SharedArrayBuffer(bytes));
  let at = FIRST;
  for (const { target, offset } of requests) {
    numbers[at] = NOT_READ;
    numbers[at + 1] = memories.indexOf(target.buffer as SharedArrayBuffer);
    numbers[at + 2] = target.byteOffset;
    numbers[at + 3] = target.byteLength;
    numbers[at + 4] = offset;
    at += COLUMNS;
  }
  return numbers;
}

/** The texts of a batch. Keys that name no file, and versions that none has, are left to the driver, which says so. */
function textsOf(requests: readonly ReadRequest[]): Pick<Batch, 'names' | 'versions'> {
  const names: string[] = [];
  const versions: string[] = [];
  for (const { key, version } of requests) {
    const possible =
      problemOf(key) === undefined && (version === undefined || POSSIBLE_VERSION.test(version));
    names.push(possible ? key : '');
    versions.push(possible ? (version ?? '') : '');
  }
  return { names: names.join('\0'), versions: versions.join('\0') };
}
