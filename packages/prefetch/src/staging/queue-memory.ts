import { configError } from '@tiered/core/internal';
import { Arena, memoryOf, type Block } from './arena.js';
import type { MemoryPort } from './queue-ports.js';
import { leave, ReusedMemory, sharedMemory } from './reused-memory.js';

/**
 * The memory that the queues of a buffer hold together. It includes queues that have ended while their
 * consumers hold samples.
 */
export class BufferMemory {
  heldBytes = 0;
  /** Bytes that they may hold. */
  limit: number;
  /** Memory held outside of arenas. */
  readonly outside = new ReusedMemory();

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Whether there is room for a sample, or nothing else is held. */
  hasRoomFor(bytes: number): boolean {
    return this.heldBytes === 0 || this.heldBytes + memoryOf(bytes) <= this.limit;
  }
}

/** The memory of a queue: its arena, and memory outside of it for samples that the arena could not hold. */
export class QueueMemory implements MemoryPort {
  readonly #shared: BufferMemory;
  readonly #arena: Arena;
  readonly #buffer: SharedArrayBuffer;
  #ownBytes = 0;
  #isAbandoned = false;

  /**
   * @param capacity Bytes that `limit` may grow to.
   * @param shared The memory of all queues, which includes this one.
   */
  constructor(capacity: number, shared: BufferMemory) {
    this.#shared = shared;
    this.#buffer = sharedMemory(capacity);
    this.#arena = new Arena(this.#buffer, shared);
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

  hasRoomFor(bytes: number): boolean {
    return this.#shared.hasRoomFor(bytes);
  }

  take(bytes: number, isNeeded: boolean): Block | undefined {
    const fits =
      this.#shared.hasRoomFor(bytes) &&
      (this.#ownBytes === 0 || this.heldBytes + memoryOf(bytes) <= this.limit);
    const block = fits || isNeeded ? this.#arena.take(bytes) : undefined;
    return block === undefined && isNeeded ? this.outside(bytes) : block;
  }

  outside(bytes: number): Block {
    const block = this.#shared.outside.take(bytes);
    this.#count(memoryOf(bytes));
    return {
      bytes: block.bytes,
      free: () => {
        this.#count(-memoryOf(bytes));
        if (!this.#isAbandoned) block.free();
      },
    };
  }

  abandon(): void {
    this.#isAbandoned = true;
  }

  /** Notes that its queue takes no more memory. Others may use what it does not hold. */
  retire(): void {
    if (this.heldBytes === 0 && !this.#isAbandoned) leave([this.#buffer]);
  }

  #count(bytes: number): void {
    this.#ownBytes += bytes;
    this.#shared.heldBytes += bytes;
  }
}

/**
 * Rejects more memory than an arena can have. Finds out by reserving it for the first queue, which takes only
 * address space.
 * @throws TieredError `TIERED_CONFIG_INVALID`.
 */
export function assertReservable(bytes: number, field: string): void {
  try {
    leave([sharedMemory(bytes)]);
  } catch {
    throw configError(field, 'bytes of address space that can be reserved at once', bytes);
  }
}
