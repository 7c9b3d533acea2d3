import { onAbort } from '../support/abort.js';
import type { Clock, SleepOptions } from '../support/clock.js';

interface Sleeper {
  readonly due: number;
  readonly background: boolean;
  readonly wake: () => void;
}

/** A clock that moves only on request. Exported for tests of drivers and policies outside this repository. */
export class ManualClock implements Clock {
  #now = 0;
  readonly #sleepers = new Set<Sleeper>();
  readonly #turn: () => Promise<void>;

  /**
   * @param turn Completes all work that needs no time. Default: `settled`. If nothing is read or written
   * outside of this thread, `ticked` does as well, in a third of the time.
   */
  constructor(turn = settled) {
    this.#turn = turn;
  }

  now(): number {
    return this.#now;
  }

  /**
   * Number of waiting `sleep` calls, without those in the background. Zero at the end of a test means that no
   * timer leaked.
   */
  get sleeping(): number {
    return [...this.#sleepers].filter(({ background }) => !background).length;
  }

  /** Number of `sleep` calls waiting in the background. Zero once everything that makes them is closed. */
  get sleepingInBackground(): number {
    return this.#sleepers.size - this.sleeping;
  }

  sleep(ms: number, signal?: AbortSignal, { background = false }: SleepOptions = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const sleeper: Sleeper = {
        due: this.#now + Math.max(0, ms),
        background,
        wake: () => {
          stopListening();
          resolve();
        },
      };
      this.#sleepers.add(sleeper);
      const stopListening = onAbort(signal, (reason) => {
        this.#sleepers.delete(sleeper);
        reject(reason);
      });
    });
  }

  /**
   * Moves time forward without waking sleepers before the next `advance`, as a computation does that never
   * waits.
   */
  pass(ms: number): void {
    this.#now += ms;
  }

  turn(): Promise<void> {
    return this.#turn();
  }

  /**
   * Moves time forward, waking sleepers in the order in which they are due, including those in the
   * background.
   * @param ms How far, in milliseconds.
   */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    for (;;) {
      await this.#turn();
      const next = this.#earliest();
      if (next === undefined || next.due > until) break;
      this.#wake(next);
    }
    this.#now = until;
    await this.#turn();
  }

  /**
   * Runs until a promise settles, moving time to the next sleeper after each turn of the event loop. Real I/O
   * may be in flight meanwhile; the result of the promise must not depend on how the two interleave. Time
   * does not move for background sleepers.
   * @param promise The promise to wait for.
   */
  async run<T>(promise: Promise<T>): Promise<T> {
    let ended = false;
    const mark = () => {
      ended = true;
    };
    promise.then(mark, mark);
    for (;;) {
      await this.#turn();
      if (ended) return promise;
      const next = this.#earliest(({ background }) => !background);
      if (next !== undefined) this.#wake(next);
    }
  }

  #earliest(counts: (sleeper: Sleeper) => boolean = () => true): Sleeper | undefined {
    let earliest: Sleeper | undefined;
    for (const sleeper of this.#sleepers) {
      if (!counts(sleeper)) continue;
      if (earliest === undefined || sleeper.due < earliest.due) earliest = sleeper;
    }
    return earliest;
  }

  #wake(sleeper: Sleeper): void {
    this.#sleepers.delete(sleeper);
    this.#now = Math.max(this.#now, sleeper.due);
    sleeper.wake();
  }
}

/** Takes one turn of the event loop: every promise that can settle without I/O and time does. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Every promise that can settle without the event loop, I/O and time does. */
export function ticked(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
