import type { Clock } from '@tiered/core';

/** Milliseconds after which every object may be asked for again, whatever is known of the room. */
const PERIOD_MS = 10_000;
/** Milliseconds that a copy takes to be deleted, at most, so that its room can be had. */
const DELETED_MS = 1000;
const LAST_PERIOD = 255;

/**
 * Remembers which objects no tier took, so that nobody asks again before there may be room. Time is divided
 * into periods, and only what was declined in the present one is remembered. Costs a byte for each object,
 * from the first that is declined.
 */
export class Declined {
  readonly #clock: Clock;
  /** By object, the period in which it was declined; 0 for none. */
  #declinedIn = new Uint8Array(0);
  #isEmpty = true;
  #period = 1;
  #since: number;
  /** When what was deleted has left its room. */
  #roomAt = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.now();
  }

  /** The present period. */
  get period(): number {
    if (this.#clock.now() - this.#since >= PERIOD_MS) this.#begin();
    return this.#period;
  }

  has(id: number): boolean {
    return this.#declinedIn[id] === this.period;
  }

  /**
   * An object was declined.
   * @param asked The period in which its placement was asked for: it means nothing in a later one.
   * @param count How many objects there are.
   */
  add(id: number, asked: number, count: number): void {
    if (asked !== this.period || this.#clock.now() < this.#roomAt) return;
    if (id >= this.#declinedIn.length) {
      const larger = new Uint8Array(Math.max(2 * this.#declinedIn.length, count));
      larger.set(this.#declinedIn);
      this.#declinedIn = larger;
    }
    this.#declinedIn[id] = asked;
    this.#isEmpty = false;
  }

  /** A copy is being deleted, so there is room before long. */
  roomComes(): void {
    this.#begin();
    this.#roomAt = this.#since + DELETED_MS;
  }

  #begin(): void {
    this.#since = this.#clock.now();
    this.#period += 1;
    if (this.#period <= LAST_PERIOD) return;
    this.#period = 1;
    if (!this.#isEmpty) this.#declinedIn.fill(0);
    this.#isEmpty = true;
  }
}
