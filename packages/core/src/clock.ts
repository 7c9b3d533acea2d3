/**
 * The one door to time. Everything that measures or waits takes a `Clock`, so that tests decide what time it is.
 * Raw timers and `Date.now` are banned elsewhere by lint.
 */
export interface Clock {
  /** Milliseconds since an arbitrary start; never goes back. */
  now(): number;
  /**
   * Waits. Rejects with `signal.reason` as soon as the signal aborts, and leaves no timer behind.
   * @param ms How long, in milliseconds. Zero or less still yields once.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The clock of the machine. Resolution of `sleep` is that of Node's timers, about 1 ms. */
export const systemClock: Clock = {
  now: () => performance.now(),
  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason as Error);
        return;
      }
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      const timer = setTimeout(
        () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
        Math.max(0, ms),
      );
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  },
};
