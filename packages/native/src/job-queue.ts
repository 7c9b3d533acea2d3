import { systemClock, TieredError } from '@tiered/core';
import { BriefMap, onAbort } from '@tiered/core/internal';
import type { Binding } from './binding.js';
import { NativeError } from './outcomes.js';

interface PoolOptions {
  readonly root: string;
  readonly threads: number;
  readonly mayHang: boolean;
  readonly idleMs: number;
}

/** Numbers reported in place of a job's: the threads have ended; the rest can be reported after a turn. */
const THREADS = -1;
const TURN = -2;

/** Called when more items of a job are done, and when it is over. */
type Listener = (done: number, isOver: boolean) => void;

/**
 * A pool of native threads, and the promises of its jobs. A job ends once, whatever the cause. After that
 * none of its memory is used.
 */
export class JobQueue {
  readonly #functions: Binding;
  readonly #pool: number;
  readonly #underWay = new BriefMap<number, Listener>();
  #jobs = 0;
  #isStopping = false;
  #isReleased = false;
  #allOver: (() => void) | undefined;
  #threadsEnded: (() => void) | undefined;

  /** @throws TieredError `TIERED_UNAVAILABLE` if the root cannot be opened. */
  constructor(functions: Binding, { root, threads, mayHang, idleMs }: PoolOptions) {
    this.#functions = functions;
    this.#pool = functions.open(root, threads, mayHang, idleMs, (job, done, isOver) => {
      if (job === THREADS) this.#threadsEnded?.();
      else if (job === TURN) void systemClock.turn().then(() => this.#goOn());
      else this.#underWay.get(job)?.(done, isOver);
    });
    if (this.#pool >= 0) return;
    const cause = new NativeError(this.#pool, 'open', JSON.stringify(root));
    throw new TieredError('TIERED_UNAVAILABLE', cause.message, { cause, retryable: true });
  }

  get isReleased(): boolean {
    return this.#isReleased;
  }

  /** Calls a function for this pool, and returns its result. @throws TieredError `TIERED_CLOSED` */
  call<T>(make: (functions: Binding, pool: number) => T): T {
    if (this.#isReleased) throw closedError();
    return make(this.#functions, this.#pool);
  }

  /**
   * Runs a job. Resolves when it is over. An abort makes it end sooner.
   * @param begin Hands the job to the threads.
   * @param progress Called before the promise resolves, whenever more items are done. If it throws, the
   * promise rejects with that error.
   */
  run(
    signal: AbortSignal | undefined,
    begin: (functions: Binding, pool: number, job: number) => void,
    progress?: (done: number) => void,
  ): Promise<void> {
    if (this.#isStopping) return Promise.reject(closedError());
    const job = this.#jobs++;
    return new Promise((resolve, reject) => {
      try {
        begin(this.#functions, this.#pool, job);
      } catch (error) {
        throw refusal(error);
      }
      let settle = resolve;
      const listener = (done: number, isOver: boolean) => {
        try {
          progress?.(done);
        } catch (error) {
          settle = () => reject(error);
        }
        if (!isOver) return;
        stopListening();
        this.#underWay.delete(job);
        settle();
        if (this.#underWay.size === 0) this.#allOver?.();
      };
      this.#underWay.set(job, listener);
      const stopListening = onAbort(signal, () => this.#functions.abort(this.#pool, job));
    });
  }

  /** Aborts all jobs, and resolves when they are over and the threads have ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const allOver = new Promise<void>((resolve) => (this.#allOver = resolve));
    for (const job of this.#underWay.keys()) this.#functions.abort(this.#pool, job);
    if (this.#underWay.size > 0) await allOver;
    const ended = new Promise<void>((resolve) => (this.#threadsEnded = resolve));
    this.#functions.stop(this.#pool);
    await ended;
  }

  #goOn(): void {
    if (!this.#isReleased) this.#functions.goOn(this.#pool);
  }

  /** Releases the pool. Jobs that hang and could not be aborted are then over. Acts once. */
  release(): void {
    this.#isReleased = true;
    this.#functions.release(this.#pool);
    for (const listener of this.#underWay.values()) listener(0, true);
  }
}

/** Makes the error of a job that could not be handed over. Mistakes of the caller are returned unchanged. */
function refusal(error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code !== 'EBUSY' && code !== 'EAGAIN') return error;
  return new TieredError('TIERED_UNAVAILABLE', `${message}; try again when something of it is done.`, {
    cause: error,
    retryable: true,
  });
}

/** Makes the error of calls after `close`. */
export function closedError(): TieredError {
  return new TieredError('TIERED_CLOSED', 'The threads are closed; make new ones to go on.');
}
