import type { Clock } from '../../support/clock.js';

/** A read in flight, and the time at which it is late. */
interface Watched {
  readonly dueAt: number;
  readonly onLate: () => void;
}

/**
 * Tells reads that they are late, with one timer for all of them. Most are never late, and a timer per read,
 * with a signal to end it, would cost more than the rest of a hedged read. There is no timer while no read is
 * watched.
 */
export class LateWatch {
  readonly #clock: Clock;
  readonly #watched = new Set<Watched>();
  #timer: AbortController | undefined;
  #wakesAt = Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Calls `onLate` once after a delay. Returns a function that cancels it.
   * @param ms The delay, in milliseconds.
   * @param onLate Must not throw.
   */
  after(ms: number, onLate: () => void): () => void {
    const watched = { dueAt: this.#clock.now() + ms, onLate };
    this.#watched.add(watched);
    if (watched.dueAt < this.#wakesAt) this.#sleepUntil(watched.dueAt);
    return () => {
      if (this.#watched.delete(watched) && this.#watched.size === 0) this.#stop();
    };
  }

  #sleepUntil(time: number): void {
    this.#stop();
    const timer = new AbortController();
    this.#timer = timer;
    this.#wakesAt = time;
    this.#clock.sleep(time - this.#clock.now(), timer.signal).then(
      () => this.#wake(),
      () => undefined,
    );
  }

  #stop(): void {
    this.#timer?.abort(STOPPED);
    this.#timer = undefined;
    this.#wakesAt = Infinity;
  }

  #wake(): void {
    this.#timer = undefined;
    this.#wakesAt = Infinity;
    const now = this.#clock.now();
    let next = Infinity;
    for (const watched of this.#watched) {
      if (watched.dueAt > now) next = Math.min(next, watched.dueAt);
      else {
        this.#watched.delete(watched);
        watched.onLate();
      }
    }
    if (next < this.#wakesAt) this.#sleepUntil(next);
  }
}

const STOPPED = new Error('tiered: no read is watched any more');
