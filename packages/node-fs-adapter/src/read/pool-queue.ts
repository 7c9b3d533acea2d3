import type { Clock } from '@tiered/core';
import { Chain } from '@tiered/core/internal';
import { native } from '@tiered/native';
import { THREADS } from './thread-pool.js';

/**
 * The least milliseconds of a call on slow storage, and the additional time per byte: 250 MB/s. Node's four
 * threads read faster storage as fast as the event loop can follow, and more threads do not make a stream of
 * bytes faster.
 */
const SLOW_MS = 2;
const SLOW_MS_A_BYTE = 1000 / 250e6;

/** Calls from one look to the next. Each look lets the event loop turn twice. */
const CALLS_A_LOOK = 8;

/**
 * Looks that have to find slow calls, because some may be a hiccup, or a busy machine. A look that finds
 * none takes back two: at the beginning of a burst of reads nothing has waited yet.
 */
const LOOKS_TO_BELIEVE = 32;
const LOOKS_TO_DOUBT = 2;

/** Number of threads to advise: enough for most servers, and 64 MB of stacks at most. */
const ADVISED_THREADS = 64;

/** A call in flight. */
interface Begun {
  readonly at: number;
  readonly bytes: number;
}

/** Whether the process was warned. It has one pool, so one warning covers all drivers. */
let isWarned = false;

/**
 * Notices that reads queue up for Node's few threads because storage is slow, and warns about it, once per
 * process (`process.emitWarning`, type `TieredWarning`).
 *
 * A call whose end is seen late may have ended long before, while the event loop computed. So a look takes
 * the oldest call still in flight after the loop has delivered all calls that had ended. If more calls are in
 * flight than there are threads, it may have waited for others for as many times as long.
 */
export class PoolQueue {
  readonly #clock: Clock;
  readonly #driver: string;
  /** The oldest first. */
  readonly #underWay = new Chain<Begun>();
  #ended = 0;
  #isLooking = false;
  #slowLooks = 0;

  /**
   * @param clock Times the calls.
   * @param driver Named in the warning.
   */
  constructor(clock: Clock, driver: string) {
    this.#clock = clock;
    this.#driver = driver;
  }

  /** Makes a call that moves this many bytes. */
  async watch<T>(bytes: number, call: () => Promise<T>): Promise<T> {
    if (isWarned) return call();
    const begun = this.#underWay.add({ at: this.#clock.now(), bytes });
    try {
      return await call();
    } finally {
      this.#underWay.remove(begun);
      this.#ended += 1;
      // Not as calls begin: many that begin together have not waited yet.
      const isDue = this.#ended % CALLS_A_LOOK === 0 && this.#underWay.size > THREADS;
      if (isDue && !this.#isLooking) void this.#look();
    }
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    await this.#clock.turn();
    const now = this.#clock.now();
    // All calls that had ended by then are now delivered.
    await this.#clock.turn();
    this.#isLooking = false;
    const oldest = this.#underWay.first?.value;
    const rounds = this.#underWay.size / THREADS;
    const isSlow = oldest !== undefined && rounds > 1 && now - oldest.at >= slowMs(oldest) * rounds;
    this.#slowLooks = isSlow ? this.#slowLooks + 1 : Math.max(0, this.#slowLooks - LOOKS_TO_DOUBT);
    if (this.#slowLooks < LOOKS_TO_BELIEVE || isWarned) return;
    isWarned = true;
    process.emitWarning(
      `${this.#driver}: reads of slow storage wait for the ${THREADS} threads that Node has for all files. ${advice()}`,
      'TieredWarning',
    );
  }
}

function slowMs({ bytes }: Begun): number {
  return SLOW_MS + bytes * SLOW_MS_A_BYTE;
}

/** The cause and its remedy. */
function advice(): string {
  const threads = `set UV_THREADPOOL_SIZE=${ADVISED_THREADS} in the environment before Node starts.`;
  const state = native();
  if (state.available) return `Leave nativeThreads as it is by default, or ${threads}`;
  const why = `There are no native threads: ${state.reason}`;
  return state.advice === undefined ? `${why} So ${threads}` : `${why} ${state.advice} Or ${threads}`;
}
