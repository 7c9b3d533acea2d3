import fs from 'node:fs';
import { systemClock, TieredError, type Clock, type OperationOptions, type ReadRequest } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { closedError, JobQueue } from './job-queue.js';
import { binding } from './load.js';
import { ABORTED, NativeError, STEPS } from './outcomes.js';
import { pack, versionText } from './pack.js';

/** Options of `IoThreads`. */
export interface IoThreadsOptions {
  /**
   * The directory that no read and no write may leave, as a real path: absolute, without symbolic links. Whatever
   * directory is at that path when a file is opened is the one. One descriptor of it is open until `close`, so that its
   * file system cannot be unmounted before.
   */
  readonly root: string;
  /**
   * Files at a time: 1 to 256. A thread costs some 10 KB of memory, 256 KiB more with `mayHang`. Default: 4, as Node's
   * thread pool; a source behind a network wants 16 to 64, files in memory as many as there are cores.
   */
  readonly threads?: number | undefined;
  /**
   * Whether the storage may hang, as network file systems do. Then an abort gives targets back at once, and a thread
   * that hangs is replaced, until there are 256 with those that hang. Costs a copy of what the storage has to be asked
   * for. Default: false.
   */
  readonly mayHang?: boolean | undefined;
  /**
   * For so long, in milliseconds, a thread waits for work before it ends. Default: 10,000, longer than pauses between
   * epochs' batches.
   */
  readonly idleMs?: number | undefined;
  /** Bounds `close`. Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
}

/** Options of reads. */
export interface TargetOptions extends OperationOptions {
  /**
   * Whether nobody transfers or shrinks the buffers of targets until the call has settled, as is sure of memory that
   * was just made for it. Then threads write to an ArrayBuffer too, and nothing is copied. If it is not true, memory
   * that was freed is written to.
   * Default: false.
   */
  readonly areFixed?: boolean | undefined;
}

/** Options of `readAt`. */
export interface ReadAtOptions extends TargetOptions {
  /** The version that the file has to be of, which is looked at when its bytes were read. Default: any. */
  readonly version?: string | undefined;
}

/** What a piece of an open file came to. */
export interface PieceRead {
  /** Bytes that were read; fewer than there was room for only at the end of the file. */
  readonly bytes: number;
  /**
   * Whether its file has no name any more: it was deleted, or another one was put in its place. Only looked at with a
   * version.
   */
  readonly isUnlinked: boolean;
}

/** What a batch came to. */
export interface BatchRead {
  /**
   * Of each request: the bytes that were read, fewer than there was room for only if the file ends, or a number below
   * 0, which `failureOf` explains.
   */
  readonly outcomes: Float64Array;
  /**
   * Milliseconds that the files took the threads, without the time that they waited for one; of files at the same time,
   * added up.
   */
  readonly busyMs: number;
}

/** Options of `readMany`. */
export interface ReadManyOptions extends TargetOptions {
  /**
   * Called with the indexes of reads that have ended since the last call, and the outcomes of all reads, at most once a
   * turn of the event loop. Both are views that are valid until the call returns. If it throws, `readMany` rejects with
   * that when it is over.
   */
  readonly onRead?: ((indexes: Float64Array, outcomes: Float64Array) => void) | undefined;
}

/** A file to be written. */
export interface FileToWrite extends OperationOptions {
  /** The key of the file that is written first: below the root, in a directory that is there, and new. */
  readonly temporary: string;
  /** The key that it gets; in a directory that is there, on the same file system. */
  readonly target: string;
  /**
   * The content, in order. What is in an ArrayBuffer is copied at once, by the main thread, unless `areFixed`: some 100
   * us a MiB.
   */
  readonly parts: readonly Uint8Array[];
  /**
   * Whether nobody transfers or shrinks the buffers of parts until the call has settled. Then threads read an
   * ArrayBuffer too, and nothing is copied, as `fs.write` does. If it is not true, memory that was freed is read.
   * Default: false.
   */
  readonly areFixed?: boolean | undefined;
  /**
   * Of the file; bits for others whatever the umask is. Default: 0o600, as the SDK keeps what it writes to its owner.
   */
  readonly mode?: number | undefined;
  /**
   * Whether content and name are on the disk itself before it is over. Default: false, as a tier can be filled again.
   */
  readonly fsync?: boolean | undefined;
  /** Whether no other file may be replaced: `EEXIST` then. Needs hard links. Default: false. */
  readonly ifAbsent?: boolean | undefined;
  /** Bytes of each XXH64 (seed 0) of the content; the last one may be of fewer. Default: 0, no sums. */
  readonly sumEvery?: number | undefined;
}

/** What the threads do at the moment. */
export interface IoCounts {
  /** Threads there are. */
  readonly threads: number;
  /** Those that wait for work. */
  readonly idle: number;
  /** Those that were left with something that was aborted, and may hang. */
  readonly left: number;
  /** Files and pieces that are not done, waiting ones included. */
  readonly items: number;
}

/** So long threads that hang are waited for at `close`, in milliseconds. */
const LAST_WAIT_MS = 1000;

/**
 * Reads and writes files in threads of its own, native ones, that block in system calls. Each file is opened, read,
 * looked at once if it has to be, and closed: at most open, read, fstat, close. Threads start as they are needed and
 * end when they are idle or at `close`. One instance for each storage: then none waits behind another.
 *
 * Targets and parts may be in a SharedArrayBuffer, which threads use directly, or in an ArrayBuffer, which costs a copy
 * in the event loop's thread, and may be transferred at any time (see `areFixed`). Nothing is written to a target after
 * its call has settled.
 *
 * At most 65,536 files and pieces are under way; more are refused with `TIERED_UNAVAILABLE`, `retryable`. Arguments
 * that cannot be are TypeErrors and RangeErrors. The process stays alive while something is under way. When a worker
 * thread ends in mid-call, its end waits for reads that use its memory; without `mayHang` that is until the storage
 * answers.
 */
export class IoThreads implements AsyncDisposable {
  readonly #jobs: JobQueue;
  readonly #clock: Clock;
  readonly #mayHang: boolean;
  readonly #counts = new Float64Array(4);
  #threads: number;
  #closing: Promise<void> | undefined;

  /**
   * @throws TieredError `TIERED_UNSUPPORTED` where the native part is not available (see `native`),
   * `TIERED_CONFIG_INVALID` for options that cannot be, `TIERED_UNAVAILABLE` if the root is not there.
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

  /** Files at a time. Surplus threads end after the file that they are at. */
  get threads(): number {
    return this.#threads;
  }

  set threads(threads: number) {
    assertThreads(threads);
    this.#jobs.call((functions, pool) => functions.setThreads(pool, threads));
    this.#threads = threads;
  }

  /** What the threads do at the moment. */
  get counts(): IoCounts {
    if (this.#jobs.isReleased) return { threads: 0, idle: 0, left: 0, items: 0 };
    this.#jobs.call((functions, pool) => functions.counts(pool, this.#counts));
    const [threads = 0, idle = 0, left = 0, items = 0] = this.#counts;
    return { threads, idle, left, items };
  }

  /**
   * Reads a batch of files; outcome i belongs to request i. Costs the event loop a few microseconds and 0.3 us a file.
   *
   * An abort begins no further file, and is `ABORTED` as the outcome of those that did not end. Without `mayHang` it
   * settles when the files that are being read are done, with it at once.
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
   * Opens a file for reading; resolves to its descriptor, which is the caller's to close. Nothing is left open if it is
   * aborted.
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
   * Fills a target from an open file. The descriptor has to stay open until this has settled. Abort as in `readMany`,
   * but rejects with the reason.
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
   * Reads what is in memory already, at once, at most 1 GiB; `undefined` if the call would wait for the storage, or the
   * file system cannot tell. Fewer bytes than there is room for may be the end of the file, or the end of what is in
   * memory. Costs a system call.
   * @throws NativeError of the system.
   */
  tryReadAt(fd: number, target: Uint8Array, offset: number): number | undefined {
    const outcome = binding().tryRead(fd, target, offset);
    if (outcome >= 0) return outcome;
    const error = new NativeError(outcome, 'read', `descriptor ${fd}`);
    if (WOULD_WAIT.has(error.code)) return undefined;
    throw error;
  }

  /**
   * Writes a file so that a reader sees the old one, none, or the whole new one: into the temporary file, which gets
   * its name when all is written. Resolves to the sums. If it fails the temporary file is removed, and the error says
   * at which step; only after `sync-directory` the file is there, and may be lost in a power cut.
   *
   * An abort rejects with the reason, and nothing has the name; with `mayHang` at once, and the temporary file goes
   * later. When the file is about to get its name, or nobody can say any more that it will not, the abort waits for
   * that and is without effect.
   * @throws NativeError of the system, whose `syscall` is the step; TieredError `TIERED_CLOSED`, `TIERED_UNAVAILABLE`.
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
   * Ends the threads. What is under way is aborted, and what is called from now on rejects with `TIERED_CLOSED`.
   * Threads that hang, which takes `mayHang`, are waited for no longer than a second, and end when the storage answers.
   */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

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

/** That it would block, or that the file system or the kernel does not know how to say so. */
const WOULD_WAIT = new Set(['EAGAIN', 'EOPNOTSUPP', 'ENOTSUP', 'ENOSYS']);

function assertThreads(threads: number): void {
  if (!Number.isInteger(threads) || threads < 1 || threads > 256)
    throw configError('threads', 'a whole number from 1 to 256', threads);
}

function assertRealPath(root: string): void {
  let real: string;
  try {
    real = fs.realpathSync.native(root);
  } catch (cause) {
    const message = `${JSON.stringify(root)} is not there; mount or create it.`;
    throw new TieredError('TIERED_UNAVAILABLE', message, { cause, retryable: true });
  }
  if (real !== root) throw configError('root', `a real path, such as ${JSON.stringify(real)}`, root);
}
