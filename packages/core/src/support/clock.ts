import { onAbort } from './abort.js';

/** How a `Clock` sleeps. */
export interface SleepOptions {
  /**
   * Whether only a look at the present state follows the sleep. Then the process may end meanwhile, and a
   * clock for tests that runs ahead to whatever is waited for leaves this sleep out. Default: false.
   */
  readonly background?: boolean | undefined;
}

/**
 * The one door to time. Everything that measures or waits takes a `Clock`, so that tests decide what time it
 * is. Raw timers and `Date.now` are banned elsewhere by lint.
 */
export interface Clock {
  /** Returns milliseconds since an arbitrary start. Never goes back. */
  now(): number;
  /**
   * Waits at least `ms`. Rejects with `signal.reason` as soon as the signal aborts, and leaves no timer
   * behind.
   * @param ms How long, in milliseconds. Zero or less still yields once.
   * @param signal Ends the waiting.
   * @param options See `SleepOptions`.
   */
  sleep(ms: number, signal?: AbortSignal, options?: SleepOptions): Promise<void>;
  /** Lets the event loop turn once: timers that are due fire, and finished I/O is delivered. */
  turn(): Promise<void>;
}

/** Node fires a timer of more than 2^31 - 1 ms at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The clock of the machine. The resolution of `sleep` is that of Node's timers, about 1 ms. */
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
    // Node drops fractions of a millisecond, and would fire too early.
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
