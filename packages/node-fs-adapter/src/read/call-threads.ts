import { Worker } from 'node:worker_threads';
import type { Clock } from '@tiered/core';
import { CALL_THREAD } from '../thread-files.js';
import type { Answer, Call } from './thread/calls.js';

/** Milliseconds without work after which a thread ends: longer than pauses between epochs' reads. */
const IDLE_MS = 10_000;

/** A call for a thread to make. One of `done` and `lost` is called, once. */
export interface Job {
  /** Puts it together when a thread has been found. */
  readonly call: (scratch: Scratch) => Call;
  /** It was made. What is in the scratch memory is there only until this returns. */
  readonly done: (answer: Answer, scratch: Scratch) => void;
  /** Its thread has ended, and nobody knows whether it was made. */
  readonly lost: () => void;
}

/**
 * Worker threads that make calls of the file system, each one at a time. They start when they are asked to,
 * and end at `close` or after ten idle seconds. A call that hangs keeps its thread, which still counts, so
 * their number is always bounded.
 */
export class CallThreads {
  readonly #clock: Clock;
  #most: number;
  readonly #threads = new Set<CallThread>();
  /** The thread that was used last is used next, so that others may end. */
  readonly #idle: CallThread[] = [];
  readonly #waiting: Job[] = [];
  readonly #whenEnded: (() => void)[] = [];
  #watch: AbortController | undefined;
  #isClosed = false;

  /**
   * @param clock Tells for how long threads are idle.
   * @param most The most threads.
   */
  constructor(clock: Clock, most: number) {
    this.#clock = clock;
    this.#most = most;
  }

  /** The number of threads, including those that start or hang. */
  get count(): number {
    return this.#threads.size;
  }

  /**
   * Whether a call should be made here: a thread is idle, or there are as many threads as allowed, so the
   * call waits.
   */
  get areReady(): boolean {
    return this.#idle.length > 0 || (this.#threads.size > 0 && this.#threads.size >= this.#most);
  }

  /** Starts one more, unless there are enough, or another one is starting. So a short need starts few. */
  startOne(): void {
    if (this.#isClosed || this.#threads.size >= this.#most) return;
    for (const { isStarting } of this.#threads) if (isStarting) return;
    try {
      this.#start();
    } catch {
      // This process may have no more threads, as Node's permissions can say.
      this.#most = this.#threads.size;
    }
  }

  /** Has a call made, when a thread is free. */
  make(job: Job): void {
    const thread = this.#idle.pop();
    if (thread === undefined) this.#waiting.push(job);
    else thread.make(job);
  }

  /** Threads may start. */
  open(): void {
    this.#isClosed = false;
  }

  /** Ends the threads. Those at work end when there is nothing more to do. Resolves when none is left. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#watch?.abort();
    for (const thread of this.#idle.splice(0)) thread.end();
    if (this.#threads.size > 0) await new Promise<void>((resolve) => this.#whenEnded.push(resolve));
  }

  #start(): void {
    const thread: CallThread = new CallThread({
      isFree: () => this.#goOn(thread),
      ended: (hasRun) => this.#forget(thread, hasRun),
    });
    this.#threads.add(thread);
    if (this.#watch !== undefined) return;
    this.#watch = new AbortController();
    void this.#endIdle(this.#watch.signal).finally(() => (this.#watch = undefined));
  }

  #goOn(thread: CallThread): void {
    const next = this.#waiting.shift();
    if (next !== undefined) thread.make(next);
    else if (this.#isClosed) thread.end();
    else {
      thread.rest();
      this.#idle.push(thread);
    }
  }

  #forget(thread: CallThread, hasRun: boolean): void {
    this.#threads.delete(thread);
    const at = this.#idle.indexOf(thread);
    if (at >= 0) this.#idle.splice(at, 1);
    // The next one would not start either.
    if (!hasRun) this.#most = this.#threads.size;
    if (this.#threads.size > 0) return;
    for (const { lost } of this.#waiting.splice(0)) lost();
    for (const tell of this.#whenEnded.splice(0)) tell();
  }

  /**
   * Ends threads that were not used from one look to the next, until there is none, or until it is aborted.
   */
  async #endIdle(signal: AbortSignal): Promise<void> {
    while (this.#threads.size > 0 && !signal.aborted) {
      await this.#clock.sleep(IDLE_MS, signal, { background: true }).catch(() => undefined);
      if (signal.aborted) return;
      const unused = this.#idle.filter((thread) => !thread.wasUsed());
      for (const thread of unused) {
        this.#idle.splice(this.#idle.indexOf(thread), 1);
        thread.end();
      }
    }
  }
}

/** Memory that a thread writes to where a target is in none that threads can share. */
export class Scratch {
  #memory = new SharedArrayBuffer(0);

  /** So much of it at least; what was in it before may be gone. */
  ofLength(bytes: number): SharedArrayBuffer {
    if (this.#memory.byteLength < bytes)
      this.#memory = new SharedArrayBuffer(2 ** Math.ceil(Math.log2(bytes)));
    return this.#memory;
  }
}

/** What a thread tells. */
interface Told {
  readonly isFree: () => void;
  /** It is no more. Whether it ever ran. */
  readonly ended: (hasRun: boolean) => void;
}

class CallThread {
  readonly #worker: Worker;
  readonly #scratch = new Scratch();
  #job: Job | undefined;
  #isOnline = false;
  #wasUsed = true;

  constructor({ isFree, ended }: Told) {
    // Without the arguments of this process, which may load what a thread has no use for. Descriptors are the
    // driver's to close.
    this.#worker = new Worker(CALL_THREAD, { execArgv: [], trackUnmanagedFds: false });
    this.#worker.on('online', () => {
      this.#isOnline = true;
      isFree();
    });
    this.#worker.on('message', (answer: Answer) => {
      const job = this.#job;
      this.#job = undefined;
      job?.done(answer, this.#scratch);
      isFree();
    });
    // The end follows, and is all that matters.
    this.#worker.on('error', () => undefined);
    this.#worker.on('exit', () => {
      ended(this.#isOnline);
      this.#job?.lost();
    });
  }

  /** Whether it does not run yet. */
  get isStarting(): boolean {
    return !this.#isOnline;
  }

  /** Makes a call. Only while it makes no other. */
  make(job: Job): void {
    this.#job = job;
    this.#wasUsed = true;
    this.#worker.ref();
    this.#worker.postMessage(job.call(this.#scratch));
  }

  /** It has nothing to do, and keeps no process from its end. */
  rest(): void {
    this.#worker.unref();
  }

  /** Whether it was used since this was last asked. */
  wasUsed(): boolean {
    const wasUsed = this.#wasUsed;
    this.#wasUsed = false;
    return wasUsed;
  }

  /** Ends it. It makes no call. */
  end(): void {
    void this.#worker.terminate();
  }
}
