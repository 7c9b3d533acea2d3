import { Worker } from 'node:worker_threads';
import type { OperationOptions } from '@tiered/core';
import type { ReadRequest } from '@tiered/core/driver';
import { onAbort } from '@tiered/core/internal';
import { BATCH_THREAD } from '../thread-files.js';
import type { BatchThreads, ThreadsRead, ThreadsRoot } from './batch-threads.js';
import { batchOf, countsOf } from './batch-of-reads.js';
import { ABANDONED, stateOf, WRITING, type Batch } from './thread/batch.js';

/**
 * Bytes of reads that are worth a message: two threads share a batch of twice as many. Opening a file takes
 * about as long as reading so many.
 */
const WORTH_A_MESSAGE = 2 * 1024 * 1024;
const BYTES_OF_AN_OPEN = 64 * 1024;

/** Worker threads, where there are no native ones; started when they are first needed. */
export class ReaderThreads implements BatchThreads {
  readonly readPieces = false;
  readonly #root: ThreadsRoot;
  readonly #most: number;
  readonly #threads = new Set<ReaderThread>();

  /**
   * @param root What they are told.
   * @param most The most threads, at least 1.
   */
  constructor(root: ThreadsRoot, most: number) {
    this.#root = root;
    this.#most = most;
  }

  get openFiles(): number {
    let busy = 0;
    for (const { underWay } of this.#threads) busy += Number(underWay > 0);
    return busy;
  }

  /**
   * Starting a thread takes far longer than reading a batch in another way, so nobody waits for one that
   * starts.
   */
  get areReady(): boolean {
    while (this.#threads.size < this.#most) this.#start();
    return this.#idlest !== undefined;
  }

  /** A large batch is read by several. A thread that hangs is given nothing more to do until it answers. */
  async read(requests: readonly ReadRequest[], { signal }: OperationOptions): Promise<ThreadsRead> {
    const parts = Math.max(1, Math.min(this.#most, requests.length, messagesFor(requests)));
    const length = Math.ceil(requests.length / parts);
    const read = await Promise.all(
      Array.from({ length: parts }, (_, i) =>
        this.#readPart(requests.slice(i * length, (i + 1) * length), signal),
      ),
    );
    const counts = read.flatMap((part) => part.counts);
    return { counts, ms: read.reduce<number | undefined>((sum, { ms }) => sumOf(sum, ms), 0) };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#threads].map((thread) => thread.end()));
  }

  async #readPart(requests: readonly ReadRequest[], signal: AbortSignal | undefined) {
    const batch = batchOf(requests);
    const ms = await this.#idlest?.read(batch, signal);
    return { counts: countsOf(batch, requests.length), ms };
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

/** How many messages a batch is worth. */
function messagesFor(requests: readonly ReadRequest[]): number {
  let bytes = requests.length * BYTES_OF_AN_OPEN;
  for (const { target } of requests) bytes += target.byteLength;
  return Math.floor(bytes / WORTH_A_MESSAGE);
}

function sumOf(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : one + other;
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
  /** Whether somebody waits for its end. */
  #isEnding = false;

  /**
   * @param data What it is told.
   * @param ended Called when there is no thread any more.
   */
  constructor(data: ThreadsRoot, ended: () => void) {
    // Without the arguments of this process, which may load what a thread has no use for.
    this.#worker = new Worker(BATCH_THREAD, { workerData: data, execArgv: [] });
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
    this.#isEnding = true;
    await this.#worker.terminate();
  }

  /** Waits only until nothing is written to the targets any more. */
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

  /**
   * A thread that nobody waits for keeps no process from its end. While it ends, the answer to a batch that
   * was left may still come.
   */
  #restIfUnused(): void {
    if (!this.#isEnding && this.#waiting.every(({ isGone }) => isGone)) this.#worker.unref();
  }
}
