import { invariant } from '@tiered/core/internal';
import Denque from 'denque';

/** Memory lent by an arena, or outside of it where the arena has no room. */
export interface Block {
  readonly bytes: Uint8Array;
  /** Gives it back. Once. */
  free(): void;
}

/** Memory of an arena: an object of its own and not a closure, as there is one for each sample. */
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
 * Circular memory on one buffer. Pieces are taken one behind the other and come back in any order. Free
 * memory is used again once everything taken before it is free too. So the arena never fragments, and taking
 * a piece costs the same however many there are. The part in use follows `limit`; the rest is address space
 * that was never touched.
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
   * @param shared Where its bytes are counted as well.
   */
  constructor(buffer: SharedArrayBuffer | ArrayBuffer, shared = { heldBytes: 0 }) {
    this.#shared = shared;
    this.buffer = buffer;
    this.#limit = this.buffer.byteLength;
  }

  /** Bytes of pieces that were not given back. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  get limit(): number {
    return this.#limit;
  }

  /** Pieces that lie beyond a smaller limit stay until they are free. */
  set limit(bytes: number) {
    this.#limit = Math.min(bytes, this.buffer.byteLength);
  }

  /** Takes a piece of this many bytes; undefined if there is no room for it now. */
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
 * Returns the memory that so many bytes take. Zero bytes take some too, so that empty objects are bounded.
 */
export function memoryOf(bytes: number): number {
  return Math.max(ALIGNMENT, Math.ceil(bytes / ALIGNMENT) * ALIGNMENT);
}

/** The memory of what could not be read at all. */
export const NO_BLOCK: Block = { bytes: new Uint8Array(new SharedArrayBuffer(0)), free: () => undefined };
