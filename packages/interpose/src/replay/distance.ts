/** The first size to which it grows. */
const FIRST = 16;
/** How much of it each object takes that is in time, and each other open. */
const SHRINK = 1 / 256;
const FADE = 1 / 2048;

/**
 * How many opens before programs are left to them, because their objects would come too late.
 *
 * It doubles when a program opened an object that was on its way, up to a bound. Several are on their way at
 * the same time, and mostly late together. So it doubles again only for one whose fetch began after that. It
 * shrinks with each object that was there when it was opened for the first time. As it may be so large that
 * nothing is placed ahead, it shrinks with other opens too, more slowly, until that is tried again.
 */
export class Distance {
  /** Objects on their way, or placed ahead and not opened since: how often it had grown when they began. */
  readonly #fresh = new Map<number, number>();
  readonly #most: number;
  #growths = 0;
  #opens = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get opens(): number {
    return Math.floor(this.#opens);
  }

  /** An object is on its way from now on. */
  begun(id: number): void {
    this.#fresh.set(id, this.#growths);
  }

  /** It will not come, or has gone. */
  gone(id: number): void {
    this.#fresh.delete(id);
  }

  opened(id: number, isInTime: boolean): void {
    const begun = this.#fresh.get(id);
    this.#fresh.delete(id);
    if (begun === undefined) this.#opens *= 1 - FADE;
    else if (isInTime) this.#opens *= 1 - SHRINK;
    else if (begun === this.#growths) this.#grow();
  }

  #grow(): void {
    this.#growths += 1;
    this.#opens = Math.min(Math.max(FIRST, 2 * this.#opens), this.#most);
  }
}
