import { invariant } from '@tiered/core/internal';
import Denque from 'denque';

/** Memory lent by an arena, or outside of it if the arena has no room. */
export interface Block {
  readonly bytes: Uint8Array;
  /** Returns it to its owner. Call it once. */
  free(): void;
}

/** A piece of an arena. A class and not a closure, because there is one for each sample. */
class Piece implements Block {
  readonly start: number;
  /** Bytes that it takes. */
  readonly length: number;
  readonly bytes: Uint8Array;
  readonly #onFree: (piece: Piece) => void;
  isFree = false;

  constructor(buffer: ArrayBufferLike, start: number, bytes: number, onFree: (piece: Piece) => void) {
    this.start = start;
    this.length = memoryOf(bytes);
    this.bytes = new Uint8Array(buffer, start, bytes);
    this.#onFree = onFree;
  }

  free(): void {
    invariant(!this.isFree, 'memory was given back twice');
    this.isFree = true;
    this.#onFree(this);
  }
}

/** Samples begin at cache lines, so that any typed array can be a view on them. */
const ALIGNMENT = 64;

/**
 * A ring of memory on one buffer. Pieces are taken one after the other and freed in any order. Freed memory
 * is reused once everything taken before it is free too. So the arena never fragments, and taking a piece
 * costs the same however many there are. The part in use follows `limit`; the rest is address space that was
 * never touched.
 */
export class Arena {
  readonly buffer: SharedArrayBuffer | ArrayBuffer;
  readonly #pieces = new Denque<Piece>();
  readonly #shared: { heldBytes: number };
  readonly #onFree = ({ length }: Piece) => {
    this.#count(-length);
    while (this.#pieces.peekFront()?.isFree === true) this.#pieces.shift();
  };
  #limit: number;
  #head = 0;
  #usedBytes = 0;

  /**
   * @param buffer As long as `limit` may grow.
   * @param shared A count that includes its bytes as well.
   */
  constructor(buffer: SharedArrayBuffer | ArrayBuffer, shared = { heldBytes: 0 }) {
    this.#shared = shared;
    this.buffer = buffer;
    this.#limit = this.buffer.byteLength;
  }

  /** Bytes of pieces that have not been freed. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  get limit(): number {
    return this.#limit;
  }

  /** Pieces beyond a lowered limit stay until they are freed. */
  set limit(bytes: number) {
    this.#limit = Math.min(bytes, this.buffer.byteLength);
  }

  /** Takes a piece of this many bytes. Returns undefined if there is no room for it now. */
  take(bytes: number): Block | undefined {
    const length = memoryOf(bytes);
    const start = this.#roomFor(length);
    if (start === undefined) return undefined;
    const piece = new Piece(this.buffer, start, bytes, this.#onFree);
    this.#pieces.push(piece);
    this.#head = start + length;
    this.#count(length);
    return piece;
  }

  #count(bytes: number): void {
    this.#usedBytes += bytes;
    this.#shared.heldBytes += bytes;
  }

  #roomFor(length: number): number | undefined {
    const oldest = this.#pieces.peekFront();
    if (oldest === undefined) return length <= this.#limit ? 0 : undefined;
    const hasWrapped = this.#head <= oldest.start;
    const end = hasWrapped ? Math.min(oldest.start, this.#limit) : this.#limit;
    if (this.#head + length <= end) return this.#head;
    return !hasWrapped && length <= Math.min(oldest.start, this.#limit) ? 0 : undefined;
  }
}

/**
 * Returns the memory that this many bytes take. Zero bytes take some too, so that empty objects are bounded.
 */
export function memoryOf(bytes: number): number {
  return Math.max(ALIGNMENT, Math.ceil(bytes / ALIGNMENT) * ALIGNMENT);
}

/** The memory of a sample that could not be read at all. */
export const NO_BLOCK: Block = { bytes: new Uint8Array(new SharedArrayBuffer(0)), free: () => undefined };
