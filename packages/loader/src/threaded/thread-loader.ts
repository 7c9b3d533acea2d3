import { TieredError, type OperationOptions } from '@tiered/core';
import { assertCounts, raceAbort } from '@tiered/core/internal';
import Denque from 'denque';
import { Worker } from 'node:worker_threads';
import type { ModuleFunction } from '../batches/functions.js';
import { closedError } from '../errors.js';
import type { LoaderFigures } from '../observe/figures.js';
import { reportOf } from '../observe/report.js';
import type { LoaderState } from '../state.js';
import { LOADER_THREAD } from '../thread-file.js';
import { errorFrom } from '../workers/messages.js';
import type { LoaderAnswer, LoaderRequest, LoaderThreadData, SentBatch } from './messages.js';

/** Options of `ThreadLoader`. */
export interface ThreadLoaderOptions extends OperationOptions {
  /** Passed to the function that makes the loader. It is copied to the thread. */
  readonly argument?: unknown;
  /** Number of batches sent ahead, at least 1. Default: 2. */
  readonly ahead?: number | undefined;
  /** Node options for the thread, like `execArgv` of `Worker`. Default: those of the process. */
  readonly execArgv?: readonly string[] | undefined;
}

/** A batch of a loader in another thread. It belongs to the caller. */
export type ThreadBatch<C> = Omit<SentBatch, 'state' | 'data'> & { readonly data: C };

type Waiting = { readonly resolve: () => void };

/** A caller that waits for figures. */
interface Asking {
  readonly resolve: (figures: LoaderFigures) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A `DataLoader` in its own thread, with its hierarchy and its prefetcher. So a training step that blocks the
 * event loop for 100 ms delays no read.
 *
 * A module makes the loader: its function is called in the thread, with `argument`, and resolves to
 * `{ loader, close }`. Let `collate` make few arrays per batch: the result of `stack` is transferred, while
 * each array of a list is copied.
 * @typeParam C The data of a batch.
 */
export class ThreadLoader<C = unknown> implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #ahead: number;
  readonly #batches = new Denque<SentBatch>();
  readonly #figures = new Map<number, Asking>();
  readonly #exited: Promise<void>;
  readonly #opened: Promise<void>;
  #state: LoaderState | undefined;
  #batchesPerEpoch: number | undefined;
  #waiting: Waiting | undefined;
  /** The state after the last batch, once the thread has reported that it was the last. */
  #stateAtEnd: LoaderState | undefined;
  #failure: { readonly error: unknown } | undefined;
  #closed: Promise<void> | undefined;
  #asked = 0;
  #nextFigures = 0;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(make: ModuleFunction, { argument, ahead = 2, execArgv }: ThreadLoaderOptions) {
    assertCounts({ ahead });
    this.#ahead = ahead;
    const workerData: LoaderThreadData = {
      make: { module: String(make.module), export: make.export },
      argument,
    };
    this.#worker = new Worker(LOADER_THREAD, {
      workerData,
      // Native threads open files that drivers close. Node would warn about each, because it did not open it.
      trackUnmanagedFds: false,
      ...(execArgv !== undefined && { execArgv: [...execArgv] }),
    });
    this.#worker.on('error', (error) => this.#fail(ended(error)));
    this.#worker.on('messageerror', (error) => this.#fail(ended(error)));
    this.#exited = new Promise((resolve) => {
      this.#worker.on('exit', (code) => {
        this.#fail(ended(new Error(`it ended with exit code ${code}`)));
        resolve();
      });
    });
    this.#opened = new Promise((resolve, reject) => {
      this.#worker.on('message', (message: LoaderAnswer) => {
        this.#received(message);
        if (message.type === 'ready') resolve();
      });
      this.#onFailure = reject;
    });
  }

  #onFailure: (error: unknown) => void = () => undefined;

  /**
   * Starts the thread, and resolves once its loader is made.
   * @param make The function that makes the loader, by its module.
   * @throws The error of the function; `TIERED_WORKER_FAILED` if the thread ends before the loader is made;
   * `TIERED_CONFIG_INVALID` for invalid options. An abort before that ends the thread.
   */
  static async open<C = unknown>(
    make: ModuleFunction,
    options: ThreadLoaderOptions = {},
  ): Promise<ThreadLoader<C>> {
    const loader = new ThreadLoader<C>(make, options);
    try {
      await raceAbort(loader.#opened, options.signal);
    } catch (error) {
      await loader.close();
      throw error;
    }
    return loader;
  }

  /** Like `DataLoader.batchesPerEpoch`. */
  get batchesPerEpoch(): number {
    return this.#batchesPerEpoch ?? 0;
  }

  /** Like `DataLoader.stateDict`: the position of the training that takes the batches. */
  stateDict(): LoaderState {
    if (this.#state === undefined) throw closedError();
    return this.#state;
  }

  /** Like `DataLoader.figures`. Works until the loader is closed, which a loop over the loader does. */
  figures(): Promise<LoaderFigures> {
    const id = this.#nextFigures++;
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) {
        reject(this.#failure.error);
        return;
      }
      this.#figures.set(id, { resolve, reject });
      this.#ask({ type: 'figures', id });
    });
  }

  /** Like `DataLoader.report`. Works until the loader is closed. */
  async report(): Promise<string> {
    return reportOf(await this.figures());
  }

  /** Iterates over all remaining batches. Leaving the loop closes the loader. */
  async *[Symbol.asyncIterator](): AsyncGenerator<ThreadBatch<C>, void, undefined> {
    try {
      for (let batch = await this.#next(); batch !== undefined; batch = await this.#next()) yield batch;
    } finally {
      await this.close();
    }
  }

  /** Like `DataLoader.epoch`. */
  async *epoch(): AsyncGenerator<ThreadBatch<C>, void, undefined> {
    let batch = await this.#next();
    for (const epoch = batch?.epoch; batch !== undefined; batch = await this.#next(epoch)) yield batch;
  }

  /** Closes the loader and what it reads from, and ends the thread. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** Calls `close`, at the end of an `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#fail(closedError());
    this.#ask({ type: 'close' });
    // Let it exit by itself: a thread with a tier in a directory must not be terminated from outside.
    await this.#exited;
  }

  /** The next batch; one call at a time. With an epoch, also undefined at its end. */
  #next(epoch?: number): Promise<ThreadBatch<C> | undefined> {
    const isOver = () => epoch !== undefined && this.#state?.epoch !== epoch;
    const next = this.#turn.then(() => (isOver() ? undefined : this.#nextInTurn()));
    this.#turn = next.catch(() => undefined);
    return next;
  }

  async #nextInTurn(): Promise<ThreadBatch<C> | undefined> {
    this.#askForMore();
    while (this.#batches.isEmpty() && this.#stateAtEnd === undefined && this.#failure === undefined)
      await new Promise<void>((resolve) => (this.#waiting = { resolve }));
    const batch = this.#closed === undefined ? this.#batches.shift() : undefined;
    if (batch === undefined) {
      if (this.#failure !== undefined) throw this.#failure.error;
      this.#state = this.#stateAtEnd;
      return undefined;
    }
    this.#asked -= 1;
    this.#askForMore();
    const { state, ...given } = batch;
    this.#state = state;
    return given as ThreadBatch<C>;
  }

  /** Requests batches, counting those in transfer and those that wait. */
  #askForMore(): void {
    const batches = this.#ahead - this.#asked;
    if (batches <= 0 || this.#stateAtEnd !== undefined || this.#failure !== undefined) return;
    this.#asked += batches;
    this.#ask({ type: 'take', batches });
  }

  #ask(request: LoaderRequest): void {
    this.#worker.postMessage(request);
  }

  #received(message: LoaderAnswer): void {
    switch (message.type) {
      case 'ready':
        this.#state = message.state;
        this.#batchesPerEpoch = message.batchesPerEpoch;
        return;
      case 'batch':
        this.#batches.push(message.batch);
        break;
      case 'over':
        this.#stateAtEnd = message.state;
        break;
      case 'figures':
        this.#figures.get(message.id)?.resolve(message.figures);
        this.#figures.delete(message.id);
        return;
      case 'failed':
        this.#fail(errorFrom(message.error));
        return;
    }
    this.#waiting?.resolve();
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#onFailure(error);
    for (const { reject } of this.#figures.values()) reject(error);
    this.#figures.clear();
    this.#waiting?.resolve();
  }
}

function ended(cause: unknown): TieredError {
  const text = cause instanceof Error ? cause.message : String(cause);
  return new TieredError(
    'TIERED_WORKER_FAILED',
    `The thread of the loader ended: ${text}. Look at the module that makes the loader.`,
    { cause },
  );
}
