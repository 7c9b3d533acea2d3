import { TieredError, type Clock } from '@tiered/core';
import type { Operation } from '@tiered/core/driver';
import { Chain, limited, onAbort, raceAbort, type Link } from '@tiered/core/internal';
import pLimit from 'p-limit';

/** Threads that Node has for the calls of all parts of this process. Read once, as libuv does. */
export const THREADS = Math.max(1, Number.parseInt(process.env['UV_THREADPOOL_SIZE'] ?? '', 10) || 4);

/** Concurrent calls on tiers, over all drivers. If all of them hang, a thread is left for the source. */
export const SLOTS = Math.max(1, THREADS - 1);
const slots = pLimit(SLOTS);
/**
 * Of those, calls that change something. A disk may accept no writes for minutes and still be readable, so if
 * all of them hang, a thread is left for reads.
 */
const changes = pLimit(Math.max(1, SLOTS - 1));
/** Calls that go on although no caller waits for them any more. */
let leftBehind = 0;

/**
 * Milliseconds after which a call may be one that never ends. Longer than a disk takes to wake up its head
 * for a queue of other calls, and shorter than an event loop may stand still.
 */
const SUSPECT_AFTER_MS = 200;

/** The caller, named in errors. */
export interface Caller {
  readonly driver: string;
  readonly operation: Operation;
  readonly key: string;
}

/**
 * Calls of one driver in Node's thread pool, and the state of the storage that they show. On a dying disk or
 * a dead server a system call can hang, and nothing can cancel it. So the event loop itself must never hang,
 * and callers that wait for a tier must be able to leave.
 */
export class ThreadPool {
  readonly #clock: Clock;
  readonly #mayLeave: boolean;
  #isProven = false;
  /** Start times of the calls in flight, the oldest first. */
  readonly #begun = new Chain<number>();

  /**
   * @param clock Times the calls.
   * @param mayLeave Whether callers may leave at once, as with a tier.
   */
  constructor(clock: Clock, mayLeave: boolean) {
    this.#clock = clock;
    this.#mayLeave = mayLeave;
  }

  /** Whether a call made by `run` may still be in flight when `run` has settled. */
  get mayLeave(): boolean {
    return this.#mayLeave;
  }

  /**
   * Whether the storage has answered since it was last in doubt, and keeps no call waiting for long. Only
   * then may the event loop wait for it.
   */
  get isProven(): boolean {
    if (!this.#isProven) return false;
    const oldest = this.#begun.first;
    return oldest === undefined || this.#clock.now() - oldest.value < SUSPECT_AFTER_MS;
  }

  /** Records that the storage was not touched yet, or has failed. It has to show that it answers. */
  doubt(): void {
    this.#isProven = false;
  }

  /** Makes a call, and learns from it. */
  async watch<T>(call: () => Promise<T>): Promise<T> {
    const begun = this.#begun.add(this.#clock.now());
    try {
      return await call();
    } finally {
      this.#ended(begun);
    }
  }

  #ended(begun: Link<number>): void {
    this.#begun.remove(begun);
    // An error is an answer too. An error of the storage itself is followed by `doubt`.
    this.#isProven = this.#clock.now() - begun.value < SUSPECT_AFTER_MS;
  }

  /**
   * Like `watch`, for a call that changes something. On a tier it waits for its turn, and an abort ends that
   * wait. Once the call has begun, its end is waited for.
   */
  change<T>(signal: AbortSignal | undefined, call: () => Promise<T>): Promise<T> {
    if (!this.#mayLeave) return this.watch(call);
    return limited(changes, signal, () => slots(() => this.watch(call)));
  }

  /**
   * Like `watch`, for a call that an abort ends while the storage may go on to hang. It has then shown
   * nothing.
   */
  async watchUntilAborted<T>(signal: AbortSignal | undefined, call: () => Promise<T>): Promise<T> {
    const begun = this.#begun.add(this.#clock.now());
    try {
      return await call();
    } finally {
      this.#ended(begun);
      if (this.#mayLeave && signal?.aborted === true) this.doubt();
    }
  }

  /**
   * Like `watch`. If callers may leave, an abort ends it at once: the call must keep all that it needs until
   * it ends, and may not touch the caller's memory once its signal has aborted.
   * @throws TieredError `TIERED_UNAVAILABLE`, retryable, as long as so many calls hang that no other can be
   * made.
   */
  async run<T>(caller: Caller, signal: AbortSignal | undefined, call: () => Promise<T>): Promise<T> {
    if (!this.#mayLeave) return this.watch(call);
    if (leftBehind >= SLOTS) throw allHang(caller);
    const made = slots(async () => {
      signal?.throwIfAborted();
      let isLeft = false;
      const stopListening = onAbort(signal, () => {
        isLeft = true;
        leftBehind += 1;
      });
      try {
        return await this.watch(call);
      } finally {
        stopListening();
        if (isLeft) leftBehind -= 1;
      }
    });
    return raceAbort(made, signal);
  }
}

function allHang({ driver, operation, key }: Caller): TieredError {
  return new TieredError(
    'TIERED_UNAVAILABLE',
    `${driver}: ${leftBehind} system calls on tiers hang, and no more are made until one ends; ` +
      `look at the disk or the mount, and see UV_THREADPOOL_SIZE for more of them.`,
    { driver, operation, key, retryable: true },
  );
}
