/** What it grows to at first, and how much of it each object takes that is in time. */
const FIRST = 16;
const SHRINK = 1 / 256;

/**
 * How many opens before programs are left to them, because their objects would come too late.
 *
 * It doubles with each object that a program opened while it was on its way, up to a bound, and shrinks with
 * each that was there when it was opened for the first time. Later opens of the object say nothing.
 */
export class Distance {
  /** Objects on their way, or placed ahead and not opened since. */
  readonly #fresh = new Set<number>();
  readonly #most: number;
  #opens = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get opens(): number {
    return Math.floor(this.#opens);
  }

  /** An object is on its way from now on. */
  begun(id: number): void {
    this.#fresh.add(id);
  }

  /** It will not come, or has gone. */
  gone(id: number): void {
    this.#fresh.delete(id);
  }

  opened(id: number, isInTime: boolean): void {
    if (!this.#fresh.delete(id)) return;
    if (isInTime) this.#opens *= 1 - SHRINK;
    else this.#opens = Math.min(Math.max(FIRST, 2 * this.#opens), this.#most);
  }
}
