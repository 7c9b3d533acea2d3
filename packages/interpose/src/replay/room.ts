/**
 * The room on the tiers that nothing is on its way to, in bytes.
 *
 * The tiers say what is free now. Of what is on its way they may have granted the room, or not yet; of what
 * is being evicted they may have the room back, or not yet; and what a copy takes is known only nearly. So
 * this keeps books, and compares them with the tiers each time: they are never further from the truth than
 * what is on its way or going, and right when nothing is.
 */
export class Room {
  readonly #free: () => number;
  #booked: number;
  /** Bytes of what is on its way, and of what is being evicted. */
  #coming = 0;
  #going = 0;

  /** @param free What the tiers say. */
  constructor(free: () => number) {
    this.#free = free;
    this.#booked = free();
  }

  get bytes(): number {
    const free = this.#free();
    this.#booked = Math.min(free + this.#going, Math.max(free - this.#coming, this.#booked));
    return this.#booked;
  }

  /** An object is on its way from now on, which takes room. */
  take(bytes: number): void {
    this.#coming += bytes;
    this.#booked -= bytes;
  }

  /** It has come, or will not, which gives the room back. */
  taken(bytes: number, hasCome: boolean): void {
    this.#coming -= bytes;
    if (!hasCome) this.#booked += bytes;
  }

  /** An object is being evicted, so that others may have its room. */
  give(bytes: number): void {
    this.#going += bytes;
    this.#booked += bytes;
  }

  /** It has gone, or there was none. */
  given(bytes: number, hasGone: boolean): void {
    this.#going -= bytes;
    if (!hasGone) this.#booked -= bytes;
  }

  /** A copy has gone for another reason. */
  add(bytes: number): void {
    this.#booked += bytes;
  }
}
