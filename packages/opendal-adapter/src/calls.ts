import type { Clock } from '@tiered/core';

/** Work in OpenDAL, which cannot be stopped: what was aborted goes on there, and nobody but this waits for it. */
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

  /** Waits until all have ended, for so many milliseconds at most. */
  async end(clock: Clock, ms: number): Promise<void> {
    if (this.#running.size === 0) return;
    const timer = new AbortController();
    await Promise.race([Promise.allSettled(this.#running), clock.sleep(ms, timer.signal)]);
    timer.abort();
  }
}
