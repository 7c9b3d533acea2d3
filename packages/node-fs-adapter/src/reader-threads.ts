import { Worker } from 'node:worker_threads';
import { onAbort } from '@tiered/core/internal';
import { ABANDONED, stateOf, WRITING, type Batch } from './reader-thread/batch.js';

/** The package brings its sources along, so this leads to the same file from the sources and from what is built. */
const ENTRY = new URL('../src/reader-thread/main.js', import.meta.url);

/** What a thread is told at its start. */
export interface ThreadData {
  /** The real path of the directory that it may not leave. */
  readonly root: string;
  /** Whether who waits for a batch may leave while a disk hangs. */
  readonly mayHang: boolean;
}

/** Threads that read batches of files, started when they are first needed. */
export class ReaderThreads {
  readonly #data: ThreadData;
  readonly #most: number;
  readonly #threads = new Set<ReaderThread>();

  /**
   * @param data What they are told.
   * @param most Threads at most; at least 1.
   */
  constructor(data: ThreadData, most: number) {
    this.#data = data;
    this.#most = most;
  }

  /** Threads that have something to do; each has a file open. */
  get busy(): number {
    let busy = 0;
    for (const { underWay } of this.#threads) busy += Number(underWay > 0);
    return busy;
  }

  /** Whether a batch would be read now. Starts what is not running: that takes far longer than to read a batch otherwise. */
  get ready(): boolean {
    while (this.#threads.size < this.#most) this.#start();
    return this.#idlest !== undefined;
  }

  /**
   * Has a batch read by the thread that has the least to do, one of them being ready. Resolves, when nothing is written to the
   * targets any more, to the time that took the thread, in milliseconds; undefined if the thread ended or the signal
   * aborted, and what is not read stays so. A thread that hangs is given nothing more to do until it answers.
   */
  async read(batch: Batch, signal: AbortSignal | undefined): Promise<number | undefined> {
    return this.#idlest?.read(batch, signal);
  }

  /** Ends all threads. None has anything to do. */
  async close(): Promise<void> {
    await Promise.all([...this.#threads].map((thread) => thread.end()));
  }

  get #idlest(): ReaderThread | undefined {
    let idlest: ReaderThread | undefined;
    for (const thread of this.#threads) {
      if (thread.isReady && (idlest === undefined || thread.underWay < idlest.underWay)) idlest = thread;
    }
    return idlest;
  }

  #start(): void {
    const thread: ReaderThread = new ReaderThread(this.#data, () => this.#threads.delete(thread));
    this.#threads.add(thread);
  }
}

/** Who waits for a batch. */
interface Waiting {
  readonly resolve: (ms: number | undefined) => void;
  isGone: boolean;
}

class ReaderThread {
  readonly #worker: Worker;
  /** Who waits for the batches under way, which are answered in order. */
  readonly #waiting: Waiting[] = [];
  #isOnline = false;

  /**
   * @param data What it is told.
   * @param ended Called when there is no thread any more.
   */
  constructor(data: ThreadData, ended: () => void) {
    // Without the arguments of this process, which may load what a thread has no use for.
    this.#worker = new Worker(ENTRY, { workerData: data, execArgv: [] });
    this.#worker.on('online', () => (this.#isOnline = true));
    this.#worker.on('message', (ms: number) => this.#answer(ms));
    // The end follows, and is all that matters.
    this.#worker.on('error', () => undefined);
    this.#worker.on('exit', () => {
      ended();
      while (this.#waiting.length > 0) this.#answer(undefined);
    });
    // A thread at rest keeps no process from its end.
    this.#worker.unref();
  }

  /** Batches that are not answered. */
  get underWay(): number {
    return this.#waiting.length;
  }

  /** Whether it answers: it runs, and nobody gave up waiting for it. */
  get isReady(): boolean {
    return this.#isOnline && this.#waiting[0]?.isGone !== true;
  }

  read(batch: Batch, signal: AbortSignal | undefined): Promise<number | undefined> {
    if (this.#waiting.length === 0) this.#worker.ref();
    const state = stateOf(batch);
    let stopListening: () => void = () => undefined;
    const read = new Promise<number | undefined>((resolve) => {
      const waiting: Waiting = { resolve, isGone: false };
      this.#waiting.push(waiting);
      this.#worker.postMessage(batch);
      stopListening = onAbort(signal, () => void this.#leave(waiting, state));
    });
    return read.finally(() => stopListening());
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  /** Waits no longer than until nothing is written to the targets. */
  async #leave(waiting: Waiting, state: Int32Array): Promise<void> {
    let seen = Atomics.or(state, 0, ABANDONED) | ABANDONED;
    while ((seen & WRITING) !== 0) {
      await Atomics.waitAsync(state, 0, seen).value;
      seen = Atomics.load(state, 0);
    }
    waiting.isGone = true;
    waiting.resolve(undefined);
    this.#restIfUnused();
  }

  #answer(ms: number | undefined): void {
    this.#waiting.shift()?.resolve(ms);
    this.#restIfUnused();
  }

  /** A thread that nobody waits for keeps no process from its end. */
  #restIfUnused(): void {
    if (this.#waiting.every(({ isGone }) => isGone)) this.#worker.unref();
  }
}
