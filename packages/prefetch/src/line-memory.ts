import { Arena, blockOfItsOwn, memoryOf, type Block } from './arena.js';

/** The memory of a line: its arena, and what is held outside of it because the arena could not have it. */
export class LineMemory {
  readonly #arena: Arena;
  #ownBytes = 0;

  /** @param capacity Bytes that `limit` may grow to. */
  constructor(capacity: number) {
    this.#arena = new Arena(capacity);
  }

  /** Bytes that it may hold. */
  get limit(): number {
    return this.#arena.limit;
  }

  set limit(bytes: number) {
    this.#arena.limit = bytes;
  }

  get heldBytes(): number {
    return this.#arena.usedBytes + this.#ownBytes;
  }

  /**
   * Memory for a sample; undefined if there is no room.
   * @param isNeeded Whether it is to be found in any case, beyond the limit if need be.
   */
  take(bytes: number, isNeeded: boolean): Block | undefined {
    const fits = this.#ownBytes === 0 || this.heldBytes + memoryOf(bytes) <= this.limit;
    const block = fits || isNeeded ? this.#arena.take(bytes) : undefined;
    return block === undefined && isNeeded ? this.#outside(bytes) : block;
  }

  #outside(bytes: number): Block {
    const block = blockOfItsOwn(bytes);
    this.#ownBytes += memoryOf(bytes);
    return {
      bytes: block.bytes,
      free: () => {
        this.#ownBytes -= memoryOf(bytes);
        block.free();
      },
    };
  }
}
