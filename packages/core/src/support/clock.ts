import { onAbort } from './abort.js';

/** How a `Clock` sleeps. */
export interface SleepOptions {
  /**
   * Whether the sleep is only followed by a check of the current state. The process may then exit meanwhile,
   * and a test clock that skips to the next sleeper ignores this sleep. Default: false.
   */
  readonly background?: boolean | undefined;
}

/**
 * The only access to time. All code that measures or waits takes a `Clock`, so that tests control time. Lint
 * bans raw timers and `Date.now` elsewhere.
 */
export interface Clock {
  /** Returns milliseconds since an arbitrary start. Never decreases. */
  now(): number;
  /**
   * Waits at least `ms`. Rejects with `signal.reason` as soon as the signal aborts, and leaves no timer
   * behind.
   * @param ms Duration in milliseconds. Zero or less still yields once.
   * @param signal Aborts the wait.
   * @param options See `SleepOptions`.
   */
  sleep(ms: number, signal?: AbortSignal, options?: SleepOptions): Promise<void>;
  /** Lets the event loop turn once: timers that are due fire, and finished I/O is delivered. */
  turn(): Promise<void>;
}

/** Node fires a timer of more than 2^31 - 1 ms immediately. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's clock. The resolution of `sleep` is that of Node's timers, about 1 ms. */
export const systemClock: Clock = {
  now: () => performance.now(),
  async sleep(ms, signal, options) {
    let left = Math.max(0, ms);
    for (; left > LONGEST_TIMER_MS; left -= LONGEST_TIMER_MS) await timer(LONGEST_TIMER_MS, signal, options);
    await timer(left, signal, options);
  },
  turn: () => new Promise((resolve) => setImmediate(resolve)),
};

function timer(
  ms: number,
  signal: AbortSignal | undefined,
  { background = false }: SleepOptions = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    // Node truncates fractions of a millisecond, and would fire too early.
    const handle = setTimeout(() => {
      stopListening();
      resolve();
    }, Math.ceil(ms));
    if (background) handle.unref();
    const stopListening = onAbort(signal, (reason) => {
      clearTimeout(handle);
      reject(reason);
    });
  });
}
