import type { Clock } from '@tiered/core';

/** How often others are told that the daemon lives: programs believe it for 3 seconds. */
const BEAT_MS = 250;

/** Says that the daemon lives, as long as its event loop turns, and does what is due as often. */
export class Beats {
  readonly #works: (() => void)[];
  readonly #closing = new AbortController();
  readonly #beating: Promise<void>;

  constructor(first: () => void, clock: Clock) {
    this.#works = [first];
    this.#beating = this.#beat(clock);
  }

  /** Does something else as well from now on. */
  add(work: () => void): void {
    this.#works.push(work);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#beating;
  }

  async #beat(clock: Clock): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      for (const work of this.#works) work();
      await clock.sleep(BEAT_MS, signal, { background: true }).catch(() => undefined);
    }
  }
}
