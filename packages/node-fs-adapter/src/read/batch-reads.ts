import { isTieredError, type OperationOptions, type ReadOutcome, type StorageDriver } from '@tiered/core';
import { inSingleRanges, type ReadRequest } from '@tiered/core/driver';
import { readOutcome } from '@tiered/core/internal';
import { IoThreads } from '@tiered/native';
import { problemOf } from '../root/keys.js';
import type { RootDirectory } from '../root/root-directory.js';
import type { FileReader } from './file-reader.js';
import { MemorySpeed, type Pauses } from './memory-speed.js';
import { openIn } from './native-reader.js';
import type { ThreadPool } from './thread-pool.js';

/**
 * Small, because a thread that waits for a disk delays only its batch, and storage gets fast as soon as a
 * first epoch has brought it into memory.
 */
const PAUSES: Pauses = { first: 1, longest: 64 };

/**
 * Milliseconds for which another program may have had the core. Such a time says nothing about the storage.
 */
const SLICE_MS = 4;

/** Reads a batch. */
type ReadMany = (
  requests: readonly ReadRequest[],
  options: OperationOptions,
) => Promise<readonly ReadOutcome[]>;

/** Reads of one object each. */
export interface SingleReads extends Pick<StorageDriver, 'readInto'> {
  /** Like `readInto`, for a request with pieces. */
  readonly readPieces: (request: ReadRequest, options: OperationOptions) => Promise<number>;
}

/**
 * Reads batches. Two native threads read a batch into shared memory as long as that is as fast as memory (see
 * `memory-speed.ts`), which for small files is several times as fast as promises. Single reads use other
 * threads, so a batch of files in memory never waits behind a slow read. On slow storage a thread would wait
 * for one file after the other. There the batch becomes single reads, all in flight at once. The same happens
 * where there are no native threads.
 *
 * Single reads repeat the reads that a thread could not make, so the outcomes, including errors, are those of
 * single reads.
 */
export class BatchReads {
  readonly #single: SingleReads;
  readonly #root: () => RootDirectory;
  readonly #pool: ThreadPool;
  readonly #threads: number;
  readonly #speed: MemorySpeed;
  #io: IoThreads | undefined;

  /**
   * @param single Makes the single reads.
   * @param root The root.
   * @param pool Knows whether the storage answers.
   * @param threads Native threads for batches, started with the first batch; 0 for none.
   */
  constructor(single: SingleReads, root: () => RootDirectory, pool: ThreadPool, threads: number) {
    this.#single = single;
    this.#root = root;
    this.#pool = pool;
    this.#threads = threads;
    this.#speed = new MemorySpeed(pool, PAUSES);
  }

  /** The most files that threads may have open now. */
  get openFiles(): number {
    return this.#io === undefined ? 0 : openIn(this.#io);
  }

  /** Like `StorageDriver.readMany`. An abort ends it when the threads have released the targets. */
  async readMany(
    requests: readonly ReadRequest[],
    options: OperationOptions,
  ): Promise<readonly ReadOutcome[]> {
    const mayTry = this.#threads > 0 && options.signal?.aborted !== true && areShared(requests);
    const io = mayTry && this.#speed.isExpected() ? this.#started() : undefined;
    return io === undefined ? this.#singly(requests, options) : this.#readBy(io, requests, options);
  }

  async #readBy(
    io: IoThreads,
    requests: readonly ReadRequest[],
    options: OperationOptions,
  ): Promise<readonly ReadOutcome[]> {
    const { signal } = options;
    const batch = this.#asNamed(requests);
    const { outcomes: counts, busyMs } = await this.#pool.watch(() => io.readMany(batch, { signal }));
    const isLeft = signal?.aborted === true;
    // The storage may hang, and the event loop must not be the next to wait there.
    if (isLeft) this.#pool.doubt();
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
    // Threads that could read nothing are useless, however fast.
    const isOfUse = unread.length < requests.length && !isLeft;
    this.#speed.learn(isOfUse ? busyMs - SLICE_MS : Infinity, ranges, bytes);
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
    const io = this.#io;
    this.#io = undefined;
    await io?.close();
  }

  /**
   * The requests with the names by which threads know files. An empty name has no file: a single read says
   * what is wrong with the key, and knows the keys that are the driver's own.
   */
  #asNamed(requests: readonly ReadRequest[]): readonly ReadRequest[] {
    const below = this.#root().belowBoundary;
    return requests.map((request) => {
      if (problemOf(request.key) !== undefined) return { ...request, key: '' };
      return below === '' ? request : { ...request, key: below + request.key };
    });
  }

  #started(): IoThreads | undefined {
    try {
      const { boundary: root } = this.#root();
      return (this.#io ??= new IoThreads({ root, threads: this.#threads, mayHang: this.#pool.mayLeave }));
    } catch (error) {
      // The root is gone, which single reads report for each object.
      if (isTieredError(error, 'TIERED_UNAVAILABLE')) return undefined;
      throw error;
    }
  }
}

/**
 * Reads a batch that includes parts of files with many objects. Such a file is kept open. While storage is as
 * fast as memory, one blocking system call reads a part, which costs less than opening the file in a thread.
 * Reads that are not of such parts, or may not block, are left to `others`.
 */
export async function readParts(
  reader: FileReader,
  batch: readonly ReadRequest[],
  options: OperationOptions,
  others: ReadMany,
): Promise<readonly ReadOutcome[]> {
  const { requests, join } = inSingleRanges(batch);
  const outcomes: ReadOutcome[] = [];
  const unread: number[] = [];
  for (const [index, { isPart, key, target, offset, version }] of requests.entries()) {
    let count: number | undefined;
    if (isPart === true && options.signal?.aborted !== true) {
      const range = { offset, version };
      count = reader.readIntoBlocking(key, target, range);
      if (count === undefined && reader.isTurnDue)
        count = await reader.afterTurn(() => reader.readIntoBlocking(key, target, range));
    }
    if (count === undefined) unread.push(index);
    outcomes.push({ bytes: count ?? 0 });
  }
  return join(await readRest(requests, unread, outcomes, (rest) => others(rest, options)));
}

/**
 * Reads the rest of a batch, and fills in the outcomes.
 * @param unread Indexes of the remaining requests.
 * @param outcomes Outcomes of all requests; changed.
 */
async function readRest(
  requests: readonly ReadRequest[],
  unread: readonly number[],
  outcomes: ReadOutcome[],
  read: (rest: readonly ReadRequest[]) => Promise<readonly ReadOutcome[]>,
): Promise<readonly ReadOutcome[]> {
  if (unread.length === 0) return outcomes;
  const rest = unread.flatMap((index) => requests[index] ?? []);
  const found = (await read(rest)).values();
  for (const index of unread) {
    const { value } = found.next();
    if (value !== undefined) outcomes[index] = value;
  }
  return outcomes;
}

function areShared(requests: readonly ReadRequest[]): boolean {
  return requests.length > 0 && requests.every(({ target }) => target.buffer instanceof SharedArrayBuffer);
}
