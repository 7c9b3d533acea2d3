import { isTieredError, type Clock } from '@tiered/core';

/** Milliseconds between two listings of the source, at least. */
export const RESCAN_MS = 300_000;
/** So many times as long as a listing takes nothing is listed, so that the source has better things to do. */
const REST = 20;

/**
 * Lists the source again from time to time, to find what others changed in it out of sight of the shim. What
 * one listing misses, because the source cannot be reached, the next one finds.
 */
export class Rescans {
  readonly #closing = new AbortController();
  readonly #done: Promise<void>;

  /**
   * @param everyMs Milliseconds between two listings. A listing that takes longer than a twentieth of that is
   * followed by a longer pause.
   */
  constructor(rescan: (signal: AbortSignal) => Promise<void>, everyMs: number, clock: Clock) {
    this.#done = this.#run(rescan, everyMs, clock);
  }

  /** Gives up a listing that is under way. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#done;
  }

  async #run(rescan: (signal: AbortSignal) => Promise<void>, everyMs: number, clock: Clock): Promise<void> {
    const { signal } = this.#closing;
    let pause = everyMs;
    for (;;) {
      await clock.sleep(pause, signal, { background: true }).catch(() => undefined);
      if (signal.aborted) return;
      const began = clock.now();
      try {
        await rescan(signal);
      } catch (error) {
        if (!signal.aborted && !isTieredError(error)) throw error;
      }
      pause = Math.max(everyMs, REST * (clock.now() - began));
    }
  }
}
