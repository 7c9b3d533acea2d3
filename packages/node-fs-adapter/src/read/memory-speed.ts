/*
 * The one rule for reads that are as fast as memory.
 *
 * A read of the page cache is cheapest without a trip through a pool: a blocking call in the event loop, or a
 * few threads that take a whole batch. The same ways are the worst for storage that has to seek. So each of
 * the two ways is tried as long as its own times are those of memory. A slow try sends the next reads to the
 * threads that all other reads use, and one in many is tried again. A blocking call of native code knows
 * whether it yielded the core: one that did not was as fast as memory, however long others had the core.
 * Storage that has not answered yet, or not since it failed, is never tried.
 */
import type { Clock } from '@tiered/core';
import { isFault } from '../errors.js';
import type { ThreadPool } from './thread-pool.js';

/**
 * The longest time, in milliseconds, that a call on the page cache takes: a few system calls, and copying at
 * 2 GB/s. A trip through a pool of threads costs about as much, so a call within this time is cheaper made at
 * once than handed over.
 */
const FAST_MS = 0.1;
const FAST_MS_A_BYTE = 1000 / 2e9;

/** For how many reads a slow way is skipped. */
export interface Pauses {
  /** The most after a slow try that follows a fast one. */
  readonly first: number;
  /** The most in any case. */
  readonly longest: number;
}

/**
 * Tracks whether one way to read is as fast as memory.
 *
 * A slow try took some multiple of the allowed time. The way is then skipped as many times, up to a limit. So
 * a hiccup costs next to nothing, and a disk that has to seek costs a pause. As long as slow tries follow
 * each other, each pause is at least twice as long as the last one, up to another limit.
 */
export class MemorySpeed {
  readonly #pool: ThreadPool;
  readonly #pauses: Pauses;
  /** The last pause, while slow tries follow each other. */
  #last = 0;
  #left = 0;

  /**
   * @param pool Knows whether the storage answers.
   * @param pauses Limits of the pauses.
   */
  constructor(pool: ThreadPool, pauses: Pauses) {
    this.#pool = pool;
    this.#pauses = pauses;
  }

  /** Whether the next read takes this way. Asked once for each read that could. */
  isExpected(): boolean {
    if (!this.#pool.isProven) return false;
    if (this.#left === 0) return true;
    this.#left -= 1;
    return false;
  }

  /** Records the time of a try, for this many files and bytes. */
  learn(ms: number, files: number, bytes: number): void {
    const times = ms / (files * FAST_MS + bytes * FAST_MS_A_BYTE);
    const { first, longest } = this.#pauses;
    const pause = Math.min(first, Math.ceil(times));
    this.#last = times <= 1 ? 0 : Math.min(longest, Math.max(pause, 2 * this.#last));
    this.#left = this.#last;
  }
}

/**
 * The most bytes that a blocking call moves. More would hold the event loop for too long, even from and to
 * memory.
 */
const LONGEST = 256 * 1024;

/** Calls that may block before the event loop gets its turn. */
const IN_A_ROW = 32;

/**
 * One call in a hundred is a little slow on any storage, because memory is collected or touched for the first
 * time. After such a call only a few reads stay off the event loop.
 */
const PAUSES: Pauses = { first: 16, longest: 4096 };

/**
 * Reads by blocking calls of the event loop, as long as these are as fast as memory. They read the page cache
 * 2 to 4 times as fast as Node's pool. Slow storage blocks the event loop once in thousands of calls.
 */
export class BlockingMode {
  readonly #clock: Clock;
  readonly #pool: ThreadPool;
  readonly #enabled: boolean;
  readonly #speed: MemorySpeed;
  #inARow = 0;
  #isTurnDue = false;
  #hasWaited = true;

  constructor(clock: Clock, pool: ThreadPool, enabled: boolean) {
    this.#clock = clock;
    this.#pool = pool;
    this.#enabled = enabled;
    this.#speed = new MemorySpeed(pool, PAUSES);
  }

  /**
   * Makes a call at once if it may block now. Undefined if it may not, or if it failed. A thread then meets
   * the same error, and has the time to explain it.
   * @param length Bytes that the call moves.
   */
  attempt<T>(length: number, call: () => T): T | undefined {
    if (!this.#mayBlock(length)) return undefined;
    const start = this.#clock.now();
    this.#hasWaited = true;
    try {
      return call();
    } catch (error) {
      if (isFault(error)) this.#pool.doubt();
      return undefined;
    } finally {
      this.#speed.learn(this.#hasWaited ? this.#clock.now() - start : 0, 1, length);
    }
  }

  /**
   * To be called within a call that did not wait for the storage, according to the kernel. If it takes long,
   * other programs have the core, and a trip through a thread would take even longer.
   */
  hasNotWaited(): void {
    this.#hasWaited = false;
  }

  /** Whether a call may not block only because the event loop has to turn first; see `turn`. */
  get isTurnDue(): boolean {
    return this.#isTurnDue;
  }

  /**
   * Lets the event loop turn. A trip through the thread pool would do so too, and take a hundred times as
   * long.
   */
  turn(): Promise<void> {
    this.#isTurnDue = false;
    return this.#clock.turn();
  }

  #mayBlock(length: number): boolean {
    if (!this.#enabled || length > LONGEST || !this.#speed.isExpected()) return false;
    this.#inARow = (this.#inARow + 1) % IN_A_ROW;
    this.#isTurnDue = this.#inARow === 0;
    return !this.#isTurnDue;
  }
}
