/** Bytes of a piece that an answer may always have. */
export const LEAST_PIECE = 256 * 1024;
/** Sizes of memory that is used again: powers of two. Less is as cheap to make. */
const LEAST_LENT = 32 * 1024;
/** Memory that waits for its next use: that of some dozen answers. */
const MOST_IDLE = 16 * 1024 * 1024;

/**
 * The memory for pieces of objects on their way to clients. An answer always gets room for one small piece,
 * so that it never waits for clients that stopped reading. More is given as long as there is room. So no more
 * is held than the limit, and a small piece for each connection.
 *
 * Memory for pieces that are read from disks is lent, and used again: new memory costs a fault for each of
 * its pages, together as much as the bytes that are read into it.
 */
export class PieceMemory {
  readonly #limit: number;
  #held = 0;
  #most = 0;
  /** What is not lent, by its size. */
  readonly #idle = new Map<number, Uint8Array[]>();
  #idleBytes = 0;

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
  /**
   * Lends memory for so many bytes. It has what was in it before. Undefined if new memory is as good. What is
   * not given back is left to the garbage collection.
   */
  lend(length: number): Uint8Array | undefined {
    if (length < LEAST_LENT || length > LEAST_PIECE) return undefined;
    const size = 2 ** Math.ceil(Math.log2(length));
    const memory = this.#idle.get(size)?.pop();
    if (memory === undefined) return Buffer.allocUnsafeSlow(size).subarray(0, length);
    this.#idleBytes -= size;
    return memory.subarray(0, length);
  }

  /** Takes back what was lent: nobody reads it any more, and nobody writes to it. */
  giveBack({ buffer }: Uint8Array): void {
    const size = buffer.byteLength;
    if (this.#idleBytes + size > MOST_IDLE) return;
    const idle = this.#idle.get(size) ?? [];
    this.#idle.set(size, idle);
    idle.push(new Uint8Array(buffer));
    this.#idleBytes += size;
  }
}
