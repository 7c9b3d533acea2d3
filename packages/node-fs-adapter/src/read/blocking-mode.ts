import type { Clock } from '@tiered/core';
import { isFault } from '../errors.js';
import { Pauses } from './pauses.js';
import type { ThreadPool } from './thread-pool.js';

/**
 * The most bytes that a blocking call moves. More would hold the event loop for too long, even from and to
 * memory.
 */
const LONGEST = 256 * 1024;

/**
 * The longest time, in milliseconds, that a call on the page cache takes: a few system calls, and copying at
 * 2 GB/s. A trip through Node's thread pool costs about as much, so a call within this time is cheaper made
 * at once than handed over.
 */
const FAST_MS = 0.1;
const FAST_MS_A_BYTE = 1000 / 2e9;

/** Calls that may block before the event loop gets its turn. */
const IN_A_ROW = 32;

/** The most calls that stay off the event loop after a slow one. */
const FIRST_PAUSE = 16;
const LAST_PAUSE = 4096;

/**
 * Decides, call by call, between a blocking system call and the thread pool, by how long blocking calls took.
 *
 * Fast and slow storage need opposite ways. A blocking call reads what is in the page cache 2 to 4 times as
 * fast, but must never wait for a disk that has to move. So after a slow blocking call the next ones go to
 * the thread pool, and only one in many is tried again: slow storage blocks the event loop once in thousands
 * of calls. One call in a hundred is a little slow on any storage, because memory is collected or touched for
 * the first time. After such a call only a few go to the pool. Storage that has not answered the thread pool
 * yet, or not since it failed, may hang. The event loop never waits for it.
 */
export class BlockingMode {
  readonly #clock: Clock;
  readonly #pool: ThreadPool;
  readonly #enabled: boolean;
  readonly #pauses = new Pauses(FIRST_PAUSE, LAST_PAUSE);
  #inARow = 0;
  #isTurnDue = false;

  constructor(clock: Clock, pool: ThreadPool, enabled: boolean) {
    this.#clock = clock;
    this.#pool = pool;
    this.#enabled = enabled;
  }

  /**
   * Makes a call at once if it may block now. Undefined if it may not, or if it failed. The thread pool then
   * meets the same error, and has the time to explain it.
   * @param length Bytes it moves.
   */
  attempt<T>(length: number, call: () => T): T | undefined {
    if (!this.mayBlock(length)) return undefined;
    try {
      return this.blocking(length, call);
    } catch {
      return undefined;
    }
  }

  /** Whether the next call, which moves so many bytes, should block. */
  mayBlock(length: number): boolean {
    if (!this.#enabled || length > LONGEST || !this.#pool.isProven) return false;
    if (this.#pauses.leaveOut()) return false;
    this.#inARow = (this.#inARow + 1) % IN_A_ROW;
    this.#isTurnDue = this.#inARow === 0;
    return !this.#isTurnDue;
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

  /** Makes a call that moves so many bytes, and learns from it. */
  blocking<T>(length: number, call: () => T): T {
    const start = this.#clock.now();
    try {
      return call();
    } catch (error) {
      if (isFault(error)) this.#pool.doubt();
      throw error;
    } finally {
      this.#pauses.learn(timesOfMemory(this.#clock.now() - start, 1, length));
    }
  }
}

/**
 * Returns how long calls took, as a multiple of the time that they take on memory. The calls were on so many
 * files, and moved so many bytes together. Up to 1 means memory.
 */
export function timesOfMemory(ms: number, files: number, bytes: number): number {
  return ms / (files * FAST_MS + bytes * FAST_MS_A_BYTE);
}
