import { isTieredError, type OperationOptions, type ReadOutcome, type StorageDriver } from '@tiered/core';
import { readOutcome } from '@tiered/core/internal';
import { inSingleRanges, type ReadRequest } from '@tiered/core/driver';
import type { BatchThreads, ThreadsRoot } from './batch-threads.js';
import { timesOfMemory } from './blocking-mode.js';
import { Pauses } from './pauses.js';
import { readRest } from './read-rest.js';
import { problemOf } from '../root/keys.js';
import type { RootDirectory } from '../root/root-directory.js';
import type { ThreadPool } from './thread-pool.js';

/**
 * Batches that are not given to threads after a slow one. Few, because a thread that waits for a disk delays
 * only its batch, and storage gets fast as soon as a first epoch has brought it into memory.
 */
const FIRST_PAUSE = 1;
const LAST_PAUSE = 64;

/**
 * Milliseconds for which another program may have had the core. Such a time says nothing about the storage.
 */
const SLICE_MS = 4;

/** Reads of one object each. */
export interface SingleReads extends Pick<StorageDriver, 'readInto'> {
  /** As `readInto`, of a request with pieces. */
  readonly readPieces: (request: ReadRequest, options: OperationOptions) => Promise<number>;
}

/**
 * Reads batches in one of two ways. *Threads* read into shared memory by blocking calls. For files that are
 * in memory this is several times as fast as promises. The *driver's single reads*, all under way at once,
 * suit slow storage, where a thread would wait for one file after the other.
 *
 * The threads' own times decide: after a slow batch the next ones go the other way, and one in many is tried
 * again. The driver reads again what a thread could not read, so the outcomes, including errors, are those of
 * single reads.
 */
export class BatchReads {
  readonly #single: SingleReads;
  readonly #root: () => RootDirectory;
  readonly #pool: ThreadPool;
  readonly #start: ((root: ThreadsRoot) => BatchThreads) | undefined;
  readonly #pauses = new Pauses(FIRST_PAUSE, LAST_PAUSE);
  #threads: BatchThreads | undefined;

  /**
   * @param single Makes the single reads.
   * @param root The root.
   * @param pool Knows whether the storage answers.
   * @param start Makes the threads, with the first batch; undefined if there must be none.
   */
  constructor(
    single: SingleReads,
    root: () => RootDirectory,
    pool: ThreadPool,
    start: ((root: ThreadsRoot) => BatchThreads) | undefined,
  ) {
    this.#single = single;
    this.#root = root;
    this.#pool = pool;
    this.#start = start;
  }

  /** The most files that threads have open now. */
  get openFiles(): number {
    return this.#threads?.openFiles ?? 0;
  }

  /** As `StorageDriver.readMany`. An abort ends it when the threads have let go of the targets. */
  async readMany(
    requests: readonly ReadRequest[],
    options: OperationOptions,
  ): Promise<readonly ReadOutcome[]> {
    const threads =
      options.signal?.aborted !== true && areShared(requests) ? this.#readyThreads() : undefined;
    if (threads === undefined || !this.#pool.isProven || this.#pauses.leaveOut())
      return this.#singly(requests, options);
    if (threads.readPieces) return this.#readBy(threads, requests, options);
    const { requests: ranges, join } = inSingleRanges(requests);
    return join(await this.#readBy(threads, ranges, options));
  }

  async #readBy(
    threads: BatchThreads,
    requests: readonly ReadRequest[],
    options: OperationOptions,
  ): Promise<readonly ReadOutcome[]> {
    const { counts, ms } = await this.#pool.watch(() => threads.read(this.#asNamed(requests), options));
    // The storage may hang, and the event loop must not be the next to wait there.
    if (ms === undefined) this.#pool.doubt();
    const outcomes: ReadOutcome[] = [];
    const unread: number[] = [];
    let [bytes, ranges] = [0, 0];
    for (const [i, { pieces }] of requests.entries()) {
      const count = counts[i] ?? -1;
      outcomes.push({ bytes: count });
      if (count < 0) unread.push(i);
      else {
        bytes += count;
        ranges += pieces === undefined ? 1 : pieces.length / 2;
      }
    }
    // Threads that could read nothing are of no use, however fast.
    const isOfUse = unread.length < requests.length && ms !== undefined;
    this.#pauses.learn(isOfUse ? timesOfMemory(ms - SLICE_MS, ranges, bytes) : Infinity);
    // What no thread could read is read singly.
    return readRest(requests, unread, outcomes, (rest) => this.#singly(rest, options));
  }

  /** Makes single reads, all at once. */
  #singly(requests: readonly ReadRequest[], options: OperationOptions): Promise<readonly ReadOutcome[]> {
    const { signal } = options;
    const readOne = (request: ReadRequest) => {
      const { key, target, offset, version, pieces } = request;
      if (pieces !== undefined && pieces.length > 0) return this.#single.readPieces(request, options);
      const range = pieces === undefined ? target : target.subarray(0, 0);
      return this.#single.readInto(key, range, { offset, version, signal });
    };
    return Promise.all(requests.map((request) => readOutcome(readOne(request))));
  }

  /** Ends the threads. No batch is under way. */
  async close(): Promise<void> {
    const threads = this.#threads;
    this.#threads = undefined;
    await threads?.close();
  }

  /** The requests by the names that threads know files by. Nothing has an empty one. */
  #asNamed(requests: readonly ReadRequest[]): readonly ReadRequest[] {
    const below = this.#root().belowBoundary;
    if (below === '') return requests;
    const named = (key: string) => (problemOf(key) === undefined ? below + key : '');
    return requests.map((request) => ({ ...request, key: named(request.key) }));
  }

  #readyThreads(): BatchThreads | undefined {
    if (this.#start === undefined) return undefined;
    try {
      this.#threads ??= this.#start({ root: this.#root().boundary, mayHang: this.#pool.mayLeave });
    } catch (error) {
      // The root is gone, which single reads report for each object.
      if (isTieredError(error, 'TIERED_UNAVAILABLE')) return undefined;
      throw error;
    }
    return this.#threads.areReady ? this.#threads : undefined;
  }
}

function areShared(requests: readonly ReadRequest[]): boolean {
  return requests.length > 0 && requests.every(({ target }) => target.buffer instanceof SharedArrayBuffer);
}
