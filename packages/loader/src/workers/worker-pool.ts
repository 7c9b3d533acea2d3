import { TieredError, type Clock } from '@tiered/core';
import { invariant } from '@tiered/core/internal';
import { Worker } from 'node:worker_threads';
import type { BatchTask, MadeBatch } from '../batches/task.js';
import { closedError } from '../errors.js';
import { WORKER_THREAD } from '../thread-file.js';
import {
  errorFrom,
  IS_TO_END,
  SERVES,
  type EndMessage,
  type ErrorBody,
  type MakeMessage,
  type StartData,
  type ThreadData,
  type ThreadMessage,
} from './messages.js';

/** Options of a worker pool. */
export interface WorkerPoolOptions {
  readonly workers: number;
  readonly data: ThreadData;
  /** Total number of workers that are replaced when they end; the next one that ends is an error. */
  readonly replacements: number;
  /** Node options for the threads. Undefined: those of this process. */
  readonly execArgv: readonly string[] | undefined;
  readonly clock: Clock;
}

/**
 * Time for a worker to exit by itself after its current sample. Then it is stopped, since user functions may
 * never end. A second is several times the decoding of a large image.
 */
const GRACE_MS = 1000;

/** A task given to a worker. */
interface Given {
  readonly task: BatchTask;
  readonly resolve: (made: MadeBatch) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Worker threads that make batches. Each task is given to the worker with the fewest.
 *
 * When a worker ends for any reason, its tasks fail, or another worker replaces it and gets the same tasks:
 * batches depend only on their task. So no call waits forever for a worker that is gone.
 */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #threads = new Set<Thread>();
  #replacements: number;
  #nextId = 0;
  /** The error of a worker that is gone for good. */
  #failure: TieredError | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    this.#replacements = options.replacements;
    for (let i = 0; i < options.workers; i++) this.#start();
  }

  /**
   * @throws TieredError `TIERED_TRANSFORM_FAILED`, `TIERED_WORKER_FAILED`, `TIERED_CLOSED`.
   */
  make(task: BatchTask): Promise<MadeBatch> {
    return new Promise((resolve, reject) => {
      this.#give(this.#nextId++, { task, resolve, reject });
    });
  }

  /** Drops a block that is no longer needed. */
  drop(block: number): void {
    for (const thread of this.#threads) thread.dropped.push(block);
  }

  /**
   * Ends the workers, each after its current sample or after `GRACE_MS`. Tasks in progress fail. Idempotent.
   */
  close(): Promise<void> {
    this.#closed ??= Promise.all([...this.#threads].map((thread) => thread.end())).then(() => undefined);
    return this.#closed;
  }

  #give(id: number, given: Given): void {
    let idlest: Thread | undefined;
    for (const thread of this.#threads)
      if (idlest === undefined || thread.tasks.size < idlest.tasks.size) idlest = thread;
    if (idlest === undefined || this.#closed !== undefined) given.reject(this.#failure ?? closedError());
    else idlest.give(id, given);
  }

  #start(): void {
    const thread = new Thread(this.#options, (error) => this.#ended(thread, error));
    this.#threads.add(thread);
  }

  #ended(thread: Thread, error: unknown): void {
    this.#threads.delete(thread);
    const tasks = [...thread.tasks];
    if (this.#closed !== undefined) {
      for (const [, { reject }] of tasks) reject(closedError());
    } else if (this.#replacements > 0 && thread.isReady) {
      this.#replacements -= 1;
      this.#start();
      for (const [id, given] of tasks) this.#give(id, given);
    } else {
      const failure = workerFailed(error, thread.isReady);
      for (const [, { reject }] of tasks) reject(failure);
      this.#failure = failure;
    }
  }
}

/** One worker thread, and its tasks. */
class Thread {
  readonly tasks = new Map<number, Given>();
  /** Dropped blocks, to be sent with its next task. */
  dropped: number[] = [];
  /** Whether its modules could be loaded. */
  isReady = false;
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  readonly #state = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  readonly #clock: Clock;
  #error: unknown;
  /** Whether its end is waited for. */
  #isEnding = false;

  constructor({ data, execArgv, clock }: WorkerPoolOptions, onEnd: (error: unknown) => void) {
    this.#clock = clock;
    const workerData: StartData = { ...data, state: this.#state };
    this.#worker = new Worker(WORKER_THREAD, {
      workerData,
      ...(execArgv !== undefined && { execArgv: [...execArgv] }),
    });
    // An unclosed loader must not keep the process alive by its threads alone.
    this.#worker.unref();
    this.#worker.on('message', (message: ThreadMessage) => this.#received(message));
    this.#worker.on('messageerror', (error) => this.#failed(error));
    this.#worker.on('error', (error) => this.#failed(error));
    this.#exited = new Promise((resolve) => {
      this.#worker.on('exit', (code) => {
        onEnd(this.#error ?? new Error(`it ended with exit code ${code}`));
        resolve();
      });
    });
  }

  give(id: number, given: Given): void {
    this.tasks.set(id, given);
    // The process waits for it while it has work.
    this.#worker.ref();
    const message: MakeMessage = { id, task: given.task, dropped: this.dropped };
    this.dropped = [];
    this.#worker.postMessage(message);
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    Atomics.store(this.#state, IS_TO_END, 1);
    // Its messages may be late: a blocked event loop has not seen that it is ready.
    if (Atomics.load(this.#state, SERVES) !== 0) await this.#endByItself();
    await this.#worker.terminate();
  }

  async #endByItself(): Promise<void> {
    const message: EndMessage = 'end';
    this.#worker.postMessage(message);
    this.#worker.ref();
    const timer = new AbortController();
    const late = this.#clock.sleep(GRACE_MS, timer.signal).catch(() => undefined);
    await Promise.race([this.#exited, late]);
    timer.abort();
  }

  #failed(error: unknown): void {
    this.#error ??= error;
    void this.end();
  }

  #received(message: ThreadMessage): void {
    if (message.type === 'ready') {
      this.isReady = true;
      return;
    }
    const given = this.tasks.get(message.id);
    invariant(given !== undefined, 'a worker answered what it was not asked');
    this.tasks.delete(message.id);
    // Answers may still come while it ends. The process must wait for its end, or the code after it would
    // never run.
    if (this.tasks.size === 0 && !this.#isEnding) this.#worker.unref();
    if (message.type === 'failed') given.reject(errorFrom(message.error));
    else given.resolve(withErrors(message.made));
  }
}

function withErrors(made: MadeBatch): MadeBatch {
  const damage = made.damage.map(({ index, error }) => ({ index, error: errorFrom(error as ErrorBody) }));
  // The data of a message has no other owner.
  return { ...made, isOwn: true, damage };
}

function workerFailed(cause: unknown, isReady: boolean): TieredError {
  const text = cause instanceof Error ? cause.message : String(cause);
  const message = isReady
    ? `A worker of the loader ended: ${text}. Fix the cause, or allow replacements (replaceWorkers).`
    : `A worker of the loader could not start: ${text}. ${adviceFor(cause)}`;
  return new TieredError('TIERED_WORKER_FAILED', message, { cause });
}

function adviceFor(cause: unknown): string {
  // Hooks that load TypeScript may exist only in the main thread, as tsx registers them on Node 20.
  return (cause as NodeJS.ErrnoException).code === 'ERR_UNKNOWN_FILE_EXTENSION'
    ? 'Threads load JavaScript: compile the module, or give the options of Node that have them load it (workerExecArgv).'
    : 'Check the modules of transform and collate.';
}
