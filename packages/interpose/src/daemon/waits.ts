import type { Clock } from '@tiered/core';

/** Milliseconds after which somebody is told of a wait: most objects come sooner, also from afar. */
const LONG_MS = 3000;
/** Milliseconds until that is said again: a dead server is asked for half a minute. */
const AGAIN_MS = 10_000;

/** Programs that have waited for long until an object can be read. */
export interface ProgramWait {
  /** Of the object that was asked for first. */
  readonly key: string;
  /** Milliseconds since then. */
  readonly ms: number;
  /** Opens that wait, this one among them. */
  readonly count: number;
}

/** Objects that programs wait for, so that a long wait can be reported. */
export class Waits {
  readonly #clock: Clock;
  readonly #onLong: (wait: ProgramWait) => void;
  readonly #closing = new AbortController();
  /** The first one first. */
  readonly #waiting = new Set<{ readonly key: string; readonly since: number }>();
  #isWatching = false;
  #nextAt = -Infinity;

  /** @param onLong Told of a wait of 3 seconds, and every 10 seconds while there is one. */
  constructor(clock: Clock, onLong: (wait: ProgramWait) => void) {
    this.#clock = clock;
    this.#onLong = onLong;
  }

  /** Does what a program waits for. */
  async during<T>(key: string, work: () => Promise<T>): Promise<T> {
    const wait = { key, since: this.#clock.now() };
    this.#waiting.add(wait);
    if (!this.#isWatching) void this.#watch();
    try {
      return await work();
    } finally {
      this.#waiting.delete(wait);
    }
  }

  /** Says nothing any more. */
  close(): void {
    this.#closing.abort();
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closing;
    this.#isWatching = true;
    for (let [first] = this.#waiting; first !== undefined && !signal.aborted; [first] = this.#waiting) {
      const now = this.#clock.now();
      const dueIn = Math.max(first.since + LONG_MS, this.#nextAt) - now;
      if (dueIn <= 0) {
        this.#nextAt = now + AGAIN_MS;
        this.#onLong({ key: first.key, ms: now - first.since, count: this.#waiting.size });
      } else await this.#clock.sleep(dueIn, signal, { background: true }).catch(() => undefined);
    }
    this.#isWatching = false;
  }
}
