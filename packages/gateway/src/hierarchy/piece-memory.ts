/** Bytes of a piece that an answer may always have. */
export const LEAST_PIECE = 256 * 1024;

/**
 * The memory for pieces of objects on their way to clients. An answer always gets room for one small piece,
 * so that it never waits for clients that stopped reading. More is given as long as there is room. So no more
 * is held than the limit, and a small piece for each connection.
 */
export class PieceMemory {
  readonly #limit: number;
  #held = 0;
  #most = 0;

  /** @param limit Bytes. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Bytes that are held now. */
  get held(): number {
    return this.#held;
  }

  /** The most bytes that were held at any time. */
  get most(): number {
    return this.#most;
  }

  /** Takes room for a piece, and returns how much it is: what is wanted, or less, but not too little. */
  take(wanted: number): number {
    const free = Math.max(0, this.#limit - this.#held);
    const granted = Math.min(wanted, Math.max(LEAST_PIECE, free));
    this.#held += granted;
    this.#most = Math.max(this.#most, this.#held);
    return granted;
  }

  /** As `take`, for a piece that can wait: 0 if there is no room beyond what others must have. */
  takeIfFree(wanted: number): number {
    return this.#limit - this.#held >= Math.min(wanted, LEAST_PIECE) ? this.take(wanted) : 0;
  }

  release(bytes: number): void {
    this.#held -= bytes;
  }
}
