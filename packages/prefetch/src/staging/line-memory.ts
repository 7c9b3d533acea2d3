import { Arena, blockOfItsOwn, memoryOf, type Block } from './arena.js';

/** What the lines of a buffer hold together, also those that have ended while their consumers hold samples. */
export class SharedMemory {
  heldBytes = 0;
  /** Bytes that they may hold. */
  limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Whether there is room for a sample, or nothing beside it. */
  hasRoomFor(bytes: number): boolean {
    return this.heldBytes === 0 || this.heldBytes + memoryOf(bytes) <= this.limit;
  }
}

/** The memory of a line: its arena, and what is held outside of it because the arena could not have it. */
export class LineMemory {
  readonly shared: SharedMemory;
  readonly #arena: Arena;
  #ownBytes = 0;

  /**
   * @param capacity Bytes that `limit` may grow to.
   * @param shared What it counts for with all others.
   */
  constructor(capacity: number, shared: SharedMemory) {
    this.shared = shared;
    this.#arena = new Arena(capacity, shared);
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
   * @param isNeeded Whether it is to be found in any case, beyond the limits if need be.
   */
  take(bytes: number, isNeeded: boolean): Block | undefined {
    const fits =
      this.shared.hasRoomFor(bytes) &&
      (this.#ownBytes === 0 || this.heldBytes + memoryOf(bytes) <= this.limit);
    const block = fits || isNeeded ? this.#arena.take(bytes) : undefined;
    return block === undefined && isNeeded ? this.outside(bytes) : block;
  }

  /** Memory beyond the arena, that counts as held. Throws if there is none at all. */
  outside(bytes: number): Block {
    const block = blockOfItsOwn(bytes);
    this.#count(memoryOf(bytes));
    return {
      bytes: block.bytes,
      free: () => {
        this.#count(-memoryOf(bytes));
        block.free();
      },
    };
  }

  #count(bytes: number): void {
    this.#ownBytes += bytes;
    this.shared.heldBytes += bytes;
  }
}
