/** Bytes of a piece that an answer may always have. */
export const LEAST_PIECE = 256 * 1024;
/** Smallest memory that is reused. Sizes are powers of two. Smaller memory is as cheap to allocate. */
const LEAST_LENT = 32 * 1024;
/** Most memory kept idle for reuse: that of some dozen answers. */
const MOST_IDLE = 16 * 1024 * 1024;

/**
 * The memory for pieces of objects in flight to clients. An answer always gets room for one small piece, so
 * it never waits for clients that stopped reading. It gets more as long as there is room. So at most the
 * limit is held, plus a small piece for each connection.
 *
 * Memory for pieces that are read from disks is lent and reused. New memory costs a fault for each of its
 * pages, together as much as the bytes that are read into it.
 */
export class PieceMemory {
  readonly #limit: number;
  #held = 0;
  #most = 0;
  /** Idle memory, by size. */
  readonly #idle = new Map<number, Uint8Array[]>();
  #idleBytes = 0;

  /** @param limit Bytes. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Bytes held now. */
  get held(): number {
    return this.#held;
  }

  /** The most bytes held at any time. */
  get most(): number {
    return this.#most;
  }

  /** Takes room for a piece. Returns its size: what is wanted, or less, but at least one small piece. */
  take(wanted: number): number {
    const free = Math.max(0, this.#limit - this.#held);
    const granted = Math.min(wanted, Math.max(LEAST_PIECE, free));
    this.#held += granted;
    this.#most = Math.max(this.#most, this.#held);
    return granted;
  }

  /** Like `take`, for a piece that can wait: 0 if there is no room beyond what is reserved for others. */
  takeIfFree(wanted: number): number {
    return this.#limit - this.#held >= Math.min(wanted, LEAST_PIECE) ? this.take(wanted) : 0;
  }

  release(bytes: number): void {
    this.#held -= bytes;
  }
  /**
   * Lends memory of this length. It still has its previous contents. Undefined if new memory is as good.
   * Memory that is not given back is left to the garbage collector.
   */
  lend(length: number): Uint8Array | undefined {
    if (length < LEAST_LENT || length > LEAST_PIECE) return undefined;
    const size = 2 ** Math.ceil(Math.log2(length));
    const memory = this.#idle.get(size)?.pop();
    if (memory === undefined) return Buffer.allocUnsafeSlow(size).subarray(0, length);
    this.#idleBytes -= size;
    return memory.subarray(0, length);
  }

  /** Takes lent memory back. It must not be read or written any more. */
  giveBack({ buffer }: Uint8Array): void {
    const size = buffer.byteLength;
    if (this.#idleBytes + size > MOST_IDLE) return;
    const idle = this.#idle.get(size) ?? [];
    this.#idle.set(size, idle);
    idle.push(new Uint8Array(buffer));
    this.#idleBytes += size;
  }
}
