import { Worker } from 'node:worker_threads';
import type { Batch } from './reader-thread/batch.js';

/** The package brings its sources along, so this leads to the same file from the sources and from what is built. */
const ENTRY = new URL('../src/reader-thread/main.js', import.meta.url);

/** Threads that read batches of files, started when they are first needed. */
export class ReaderThreads {
  readonly #root: string;
  readonly #most: number;
  readonly #threads = new Set<ReaderThread>();

  /**
   * @param root The real path of the directory that they may not leave.
   * @param most Threads at most; at least 1.
   */
  constructor(root: string, most: number) {
    this.#root = root;
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
   * targets any more, to the time that took the thread, in milliseconds; undefined if the thread ended, and what is not
   * read stays so.
   */
  async read(batch: Batch): Promise<number | undefined> {
    return this.#idlest?.read(batch);
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
    const thread: ReaderThread = new ReaderThread(this.#root, () => this.#threads.delete(thread));
    this.#threads.add(thread);
  }
}

class ReaderThread {
  readonly #worker: Worker;
  /** Who waits for the batches under way, which are answered in order. */
  readonly #waiting: ((ms: number | undefined) => void)[] = [];
  isReady = false;

  /**
   * @param root The root.
   * @param ended Called when there is no thread any more.
   */
  constructor(root: string, ended: () => void) {
    // Without the arguments of this process, which may load what a thread has no use for.
    this.#worker = new Worker(ENTRY, { workerData: { root }, execArgv: [] });
    this.#worker.on('online', () => (this.isReady = true));
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

  read(batch: Batch): Promise<number | undefined> {
    if (this.#waiting.length === 0) this.#worker.ref();
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#worker.postMessage(batch);
    });
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #answer(ms: number | undefined): void {
    const resolve = this.#waiting.shift();
    if (this.#waiting.length === 0) this.#worker.unref();
    resolve?.(ms);
  }
}
