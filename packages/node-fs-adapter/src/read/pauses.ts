/**
 * Says how often a way that turned out to be slow is tried again. A slow try took some multiple of the time
 * that it should. The way is then left out as many times, within a bound. So a hiccup costs next to nothing,
 * and a disk that has to move costs a pause. As long as slow tries follow each other, each pause is at least
 * twice as long as the last one, up to another bound.
 */
export class Pauses {
  readonly #longestFirst: number;
  readonly #longest: number;
  /** The last pause, while slow times follow each other. */
  #last = 0;
  #left = 0;

  constructor(longestFirst: number, longest: number) {
    this.#longestFirst = longestFirst;
    this.#longest = longest;
  }

  /** Whether it is left out this time. */
  leaveOut(): boolean {
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }

  /** Notes that it was tried, and took so many times as long as it may. Up to 1 is fast. */
  learn(times: number): void {
    const first = Math.min(this.#longestFirst, Math.ceil(times));
    this.#last = times <= 1 ? 0 : Math.min(this.#longest, Math.max(first, 2 * this.#last));
    this.#left = this.#last;
  }
}
