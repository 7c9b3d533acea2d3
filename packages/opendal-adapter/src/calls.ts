import type { Clock } from '@tiered/core';

/** Calls in OpenDAL, which cannot be stopped: aborted ones go on there, and only this waits for them. */
export class Calls {
  readonly #running = new Set<Promise<unknown>>();

  /** How many have not ended. */
  get size(): number {
    return this.#running.size;
  }

  /** Counts a call until it ends. */
  add<T>(call: Promise<T>): Promise<T> {
    this.#running.add(call);
    const ended = () => this.#running.delete(call);
    call.then(ended, ended);
    return call;
  }

  /** Waits until all have ended, for at most this many milliseconds. */
  async end(clock: Clock, ms: number): Promise<void> {
    if (this.#running.size === 0) return;
    const timer = new AbortController();
    await Promise.race([Promise.allSettled(this.#running), clock.sleep(ms, timer.signal)]);
    timer.abort();
  }
}
