/**
 * How often a way that turned out to be slow is tried again: not for so many times after a slow one, which doubles up to
 * a bound while slow ones follow each other.
 */
export class Pauses {
  readonly #first: number;
  readonly #last: number;
  #next: number;
  #left = 0;

  constructor(first: number, last: number) {
    this.#first = first;
    this.#last = last;
    this.#next = first;
  }

  /** Whether it is left out this time. */
  leaveOut(): boolean {
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }

  /** It was tried, and was as fast as it should be, or not. */
  learn(fast: boolean): void {
    this.#left = fast ? 0 : this.#next;
    this.#next = fast ? this.#first : Math.min(this.#last, this.#next * 2);
  }
}
