import fs from 'node:fs';
import { systemClock, TieredError, type Clock, type OperationOptions } from '@tiered/core';
import type { ReadRequest } from '@tiered/core/driver';
import { configError } from '@tiered/core/internal';
import { closedError, JobQueue } from './job-queue.js';
import { binding } from './load.js';
import { ABORTED, NativeError, STEPS } from './outcomes.js';
import { pack, textsOf, versionText } from './pack.js';

/** Options of `IoThreads`. */
export interface IoThreadsOptions {
  /**
   * The directory that no read or write may leave, as a real path: absolute, without symbolic links. Files
   * are opened in the directory that is then at this path. One descriptor of it is open until `close`, so its
   * file system cannot be unmounted before.
   */
  readonly root: string;
  /**
   * Concurrent files: 1 to 256. A thread costs some 10 KB of memory, and 256 KiB more with `mayHang`. Use 16
   * to 64 for a source behind a network, and the number of cores for files in memory. Default: 4, as in
   * Node's thread pool.
   */
  readonly threads?: number | undefined;
  /**
   * Whether the storage may hang, as network file systems do. Then an abort returns targets at once, and a
   * thread that hangs is replaced, up to 256 threads including those that hang. Costs a copy of the bytes
   * that have to be requested from the storage. Default: false.
   */
  readonly mayHang?: boolean | undefined;
  /**
   * Milliseconds that an idle thread waits for work before it ends. Default: 10,000, longer than pauses
   * between epochs' batches.
   */
  readonly idleMs?: number | undefined;
  /** Limits `close`. Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
}

/** Options of reads. */
export interface TargetOptions extends OperationOptions {
  /**
   * Promises that the buffers of targets are not transferred or shrunk until the call has settled. That is
   * certain for memory allocated just for the call. Then threads also write to an ArrayBuffer, and nothing is
   * copied. If the promise is broken, threads write to freed memory. Default: false.
   */
  readonly areFixed?: boolean | undefined;
}

/** Options of `readAt`. */
export interface ReadAtOptions extends TargetOptions {
  /** The version that the file must have. It is checked after the bytes were read. Default: any. */
  readonly version?: string | undefined;
}

/** The result of reading a piece of an open file. */
export interface PieceRead {
  /** Bytes read. Fewer than the target's length only at the end of the file. */
  readonly bytes: number;
  /**
   * Whether the file no longer has a name, because it was deleted or replaced. Only checked if a version was
   * given.
   */
  readonly isUnlinked: boolean;
}

/** The result of reading a batch. */
export interface BatchRead {
  /**
   * For each request, the bytes read (fewer than the target's length only at the end of the file), or a
   * number below 0, which `failureOf` explains.
   */
  readonly outcomes: Float64Array;
  /**
   * Milliseconds that threads spent on the files, without the time that the files waited for a thread. Times
   * of files that were read concurrently are added up.
   */
  readonly busyMs: number;
}

/** Options of `readMany`. */
export interface ReadManyOptions extends TargetOptions {
  /**
   * Called with the indexes of reads that have ended since the last call, and the outcomes of all reads, at
   * most once per turn of the event loop. Both are views that are valid until the call returns. If it throws,
   * `readMany` rejects with that error when the batch is over.
   */
  readonly onRead?: ((indexes: Float64Array, outcomes: Float64Array) => void) | undefined;
}

/** A file to write. */
export interface FileToWrite extends OperationOptions {
  /** The key of the temporary file. It must be new, below the root, in a directory that exists. */
  readonly temporary: string;
  /** The final key of the file, in a directory that exists, on the same file system. */
  readonly target: string;
  /**
   * The content, in order. The main thread copies parts in an ArrayBuffer at once, unless `areFixed`. That
   * costs some 100 us per MiB.
   */
  readonly parts: readonly Uint8Array[];
  /**
   * Promises that the buffers of parts are not transferred or shrunk until the call has settled. Then threads
   * also read from an ArrayBuffer, and nothing is copied, as with `fs.write`. If the promise is broken,
   * threads read freed memory. Default: false.
   */
  readonly areFixed?: boolean | undefined;
  /**
   * Mode of the file, applied regardless of the umask. Default: 0o600, because only the owner may read files
   * that the SDK writes.
   */
  readonly mode?: number | undefined;
  /**
   * Whether content and name are on the disk itself before the call resolves. Default: false, because a tier
   * can be filled again.
   */
  readonly fsync?: boolean | undefined;
  /**
   * Whether the write fails with `EEXIST` instead of replacing another file. Needs hard links. Default:
   * false.
   */
  readonly ifAbsent?: boolean | undefined;
  /** Bytes of content per XXH64 sum (seed 0). The last sum may cover fewer. Default: 0, no sums. */
  readonly sumEvery?: number | undefined;
}

/** The current state of the threads. */
export interface IoCounts {
  /** Number of threads. */
  readonly threads: number;
  /** Threads that wait for work. */
  readonly idle: number;
  /** Threads that were left with an aborted item, and may hang. */
  readonly left: number;
  /** Files and pieces that are not done, including waiting ones. */
  readonly items: number;
}

/** Milliseconds that `close` waits for threads that hang. */
const LAST_WAIT_MS = 1000;

/**
 * Reads and writes files in native threads of its own, which block in system calls. Each file takes at most
 * open, read, fstat and close. Threads start when needed, and end when they are idle or at `close`. Use one
 * instance for each storage, so that none waits behind another.
 *
 * Targets and parts may be in a SharedArrayBuffer, which threads use directly, or in an ArrayBuffer, which
 * costs a copy in the event loop's thread, and may be transferred at any time (see `areFixed`). Nothing is
 * written to a target after its call has settled.
 *
 * At most 65,536 files and pieces are in flight. More are refused with `TIERED_UNAVAILABLE`, `retryable`.
 * Invalid arguments are TypeErrors and RangeErrors. The process stays alive while anything is in flight. When
 * a worker thread ends in mid-call, its end waits for reads that use its memory. Without `mayHang` it waits
 * until the storage answers.
 */
export class IoThreads implements AsyncDisposable {
  readonly #jobs: JobQueue;
  readonly #clock: Clock;
  readonly #mayHang: boolean;
  readonly #counts = new Float64Array(4);
  /** The outcome of the last `readNow`, and whether it waited. */
  readonly #now = new Float64Array(2);
  #threads: number;
  #closing: Promise<void> | undefined;

  /**
   * @throws TieredError `TIERED_UNSUPPORTED` where the native part is not available (see `native`),
   * `TIERED_CONFIG_INVALID` for options that cannot work, `TIERED_UNAVAILABLE` if the root does not exist.
   */
  constructor({
    root,
    threads = 4,
    mayHang = false,
    idleMs = 10_000,
    clock = systemClock,
  }: IoThreadsOptions) {
    const functions = binding();
    assertThreads(threads);
    assertRealPath(root);
    this.#jobs = new JobQueue(functions, { root, threads, mayHang, idleMs });
    this.#threads = threads;
    this.#mayHang = mayHang;
    this.#clock = clock;
  }

  /** Concurrent files. Surplus threads end after their present file. */
  get threads(): number {
    return this.#threads;
  }

  /** @throws TieredError `TIERED_CONFIG_INVALID` for anything but 1 to 256. */
  set threads(threads: number) {
    assertThreads(threads);
    this.#jobs.call((functions, pool) => functions.setThreads(pool, threads));
    this.#threads = threads;
  }

  /** The current state of the threads. */
  get counts(): IoCounts {
    if (this.#jobs.isReleased) return { threads: 0, idle: 0, left: 0, items: 0 };
    this.#jobs.call((functions, pool) => functions.counts(pool, this.#counts));
    const [threads = 0, idle = 0, left = 0, items = 0] = this.#counts;
    return { threads, idle, left, items };
  }

  /**
   * Reads a batch of files. Outcome i belongs to request i. Costs the event loop a few microseconds, and 0.3
   * us per file.
   *
   * After an abort no further file begins, and files that did not end have the outcome `ABORTED`. With
   * `mayHang` the call settles at once. Without it, the call settles when the files being read are done.
   * @throws TieredError `TIERED_CLOSED`, `TIERED_UNAVAILABLE`.
   */
  async readMany(
    requests: readonly ReadRequest[],
    { signal, onRead, areFixed = false }: ReadManyOptions = {},
  ): Promise<BatchRead> {
    const count = requests.length;
    const results = new Float64Array(2 * count + 1).fill(ABORTED, 0, count);
    const outcomes = results.subarray(0, count);
    if (count === 0 || signal?.aborted === true) return { outcomes, busyMs: 0 };
    const { texts, numbers, memories } = pack(requests);
    let told = 0;
    const tell = (done: number) => {
      if (done > told) onRead?.(results.subarray(count + told, count + done), outcomes);
      told = done;
    };
    await this.#jobs.run(
      signal,
      (functions, pool, job) =>
        functions.readFiles(
          pool,
          job,
          texts,
          count,
          numbers,
          [results, ...memories],
          onRead !== undefined,
          areFixed,
        ),
      onRead && tell,
    );
    return { outcomes, busyMs: results[2 * count] ?? 0 };
  }

  /**
   * Opens a file, fills a target from it and closes it. Resolves to the bytes read, fewer than the target's
   * length only at the end of the file. Costs the event loop less than a batch of one. Abort as in
   * `readMany`, but rejects with the reason.
   * @throws NativeError of the system, `OTHER_VERSION`, `NOT_A_FILE`, `OUTSIDE`, `INVALID_KEY`; TieredError
   * `TIERED_CLOSED`, `TIERED_UNAVAILABLE`.
   */
  async readFile(
    key: string,
    target: Uint8Array,
    offset: number,
    { version, areFixed = false, signal }: ReadAtOptions = {},
  ): Promise<number> {
    signal?.throwIfAborted();
    const results = Float64Array.of(ABORTED, 0, 0);
    const texts = textsOf(key, version);
    await this.#jobs.run(signal, (functions, pool, job) =>
      functions.readFile(pool, job, texts, offset, [results, target], areFixed),
    );
    const [outcome = ABORTED] = results;
    if (outcome < 0) throw this.#failure(outcome, 'read', JSON.stringify(key), signal);
    return outcome;
  }

  /**
   * Opens a file for reading. Resolves to its descriptor, which the caller must close. An abort leaves
   * nothing open.
   * @throws NativeError of the system; TieredError `TIERED_CLOSED`, `TIERED_UNAVAILABLE`.
   */
  async open(key: string, { signal }: OperationOptions = {}): Promise<number> {
    signal?.throwIfAborted();
    const result = Float64Array.of(ABORTED);
    await this.#jobs.run(signal, (functions, pool, job) => functions.openFile(pool, job, key, [result]));
    const [outcome = ABORTED] = result;
    if (outcome < 0) throw this.#failure(outcome, 'open', JSON.stringify(key), signal);
    return outcome;
  }

  /**
   * Fills a target from an open file. The descriptor has to stay open until this has settled. Abort as in
   * `readMany`, but rejects with the reason.
   * @throws NativeError of the system, `OTHER_VERSION` or `NOT_A_FILE`; TieredError `TIERED_CLOSED`,
   * `TIERED_UNAVAILABLE`.
   */
  async readAt(
    fd: number,
    target: Uint8Array,
    offset: number,
    { version, areFixed = false, signal }: ReadAtOptions = {},
  ): Promise<PieceRead> {
    signal?.throwIfAborted();
    const results = Float64Array.of(ABORTED, 0, 1);
    await this.#jobs.run(signal, (functions, pool, job) =>
      functions.readPiece(pool, job, fd, offset, versionText(version), [results, target], areFixed),
    );
    const [outcome = ABORTED, , links] = results;
    if (outcome < 0) throw this.#failure(outcome, 'read', `descriptor ${fd}`, signal);
    return { bytes: outcome, isUnlinked: links === 0 };
  }

  /**
   * Opens a file, fills a target from it and closes it, in the calling thread, which waits for the storage
   * (`hasWaited`). Returns the bytes read, fewer than the target's length only at the end of the file. Costs
   * open, read and close, and with a version fstat: for a file in memory less than half of the cost of
   * `readMany`.
   * @param version The version that the file must have. Undefined for any.
   * @throws NativeError of the system, `OTHER_VERSION`, `NOT_A_FILE`, `OUTSIDE`; TieredError `TIERED_CLOSED`.
   */
  readNow(key: string, target: Uint8Array, offset: number, version?: string): number {
    const texts = textsOf(key, version);
    const now = this.#now;
    this.#jobs.call((functions, pool) => functions.readFileNow(pool, texts, target, offset, now));
    const [outcome = ABORTED] = now;
    if (outcome < 0) throw new NativeError(outcome, 'read', JSON.stringify(key));
    return outcome;
  }

  /**
   * Whether the last `readNow` yielded the core, like a read that waits for a disk. If it did not, and took
   * long, other programs had the core.
   */
  get hasWaited(): boolean {
    return this.#now[1] !== 0;
  }

  /**
   * Writes a file so that a reader sees the old one, none, or the whole new one: into the temporary file,
   * which gets its final name when everything is written. Resolves to the sums. If it fails, the temporary
   * file is removed, and the error names the step. Only if the step is `sync-directory`, the file exists, and
   * may be lost in a power cut.
   *
   * An abort rejects with the reason, and no file gets the name. With `mayHang` it rejects at once, and the
   * temporary file is removed later. Once the file is about to get its name, or may get it, the abort waits
   * for that and has no effect.
   * @throws NativeError of the system, whose `syscall` is the step; TieredError `TIERED_CLOSED`,
   * `TIERED_UNAVAILABLE`.
   */
  async writeFile(file: FileToWrite): Promise<BigUint64Array> {
    const {
      temporary,
      target,
      parts,
      areFixed = false,
      mode = 0o600,
      fsync = false,
      ifAbsent = false,
      sumEvery = 0,
      signal,
    } = file;
    signal?.throwIfAborted();
    const result = new Float64Array([ABORTED, 0]);
    let bytes = 0;
    for (const part of parts) bytes += part.byteLength;
    const sums = new BigUint64Array(sumEvery > 0 ? Math.ceil(bytes / sumEvery) : 0);
    const numbers = new Float64Array([mode, Number(fsync), Number(ifAbsent), sumEvery]);
    await this.#jobs.run(signal, (functions, pool, job) =>
      functions.writeFile(pool, job, `${temporary}\0${target}`, numbers, [result, sums, ...parts], areFixed),
    );
    const [outcome = ABORTED, step = 0] = result;
    if (outcome < 0) throw this.#failure(outcome, STEPS[step] ?? 'write', JSON.stringify(target), signal);
    return sums;
  }

  /**
   * Ends the threads. Calls in flight are aborted, and later calls reject with `TIERED_CLOSED`. With
   * `mayHang`, it waits no longer than a second for threads that hang. They end when the storage answers.
   */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  /** Calls `close` at the end of an `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const hasEnded = this.#jobs.stop();
    if (this.#mayHang) {
      const waiting = new AbortController();
      const sleep = this.#clock.sleep(LAST_WAIT_MS, waiting.signal).catch(() => undefined);
      await Promise.race([hasEnded, sleep]);
      waiting.abort();
    } else {
      await hasEnded;
    }
    this.#jobs.release();
  }

  #failure(
    outcome: number,
    step: NativeError['syscall'],
    what: string,
    signal: AbortSignal | undefined,
  ): unknown {
    if (outcome !== ABORTED) return new NativeError(outcome, step, what);
    return signal?.aborted === true ? signal.reason : closedError();
  }
}

function assertThreads(threads: number): void {
  if (!Number.isInteger(threads) || threads < 1 || threads > 256)
    throw configError('threads', 'a whole number from 1 to 256', threads);
}

function assertRealPath(root: string): void {
  let real: string;
  try {
    real = fs.realpathSync.native(root);
  } catch (cause) {
    const message = `${JSON.stringify(root)} is missing; mount or create it.`;
    throw new TieredError('TIERED_UNAVAILABLE', message, { cause, retryable: true });
  }
  if (real !== root) throw configError('root', `a real path, such as ${JSON.stringify(real)}`, root);
}
