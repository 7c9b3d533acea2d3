import { memoryFor, raceAbort } from '@tiered/core/internal';

/** Pieces that are kept for the next chunks. */
const SPARE_PIECES = 4;
/** Smaller pieces come from the allocator's own reserve. */
const LEAST_SPARE_BYTES = 2 ** 20;

/**
 * Bytes of chunks in memory: on their way from the source, or waiting to be written to a tier. Readers take what they
 * need (they wait for those very bytes); work that nobody waits for takes only what is left.
 *
 * Memory that nobody can see any more serves the next chunk of its size: new memory costs a page fault every 4 KiB, which
 * for a chunk is more than reading it from a page cache. What is spare goes when nothing is on its way.
 */
export class MemoryBudget {
  readonly #limit: number;
  #held = 0;
  #onRelease: (() => void)[] = [];
  #spare: Uint8Array[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  get held(): number {
    return this.#held;
  }

  hasRoom(bytes: number): boolean {
    return this.#held === 0 || this.#held + bytes <= this.#limit;
  }

  take(bytes: number): void {
    this.#held += bytes;
  }

  /** Takes memory for a chunk. What is in it is what was there before. */
  lend(bytes: number): Uint8Array {
    this.take(bytes);
    const last = this.#spare.pop();
    if (last?.byteLength === bytes) return last;
    return memoryFor(bytes);
  }

  /** Gives back memory for a chunk that nobody looks at any more. */
  giveBack(memory: Uint8Array): void {
    if (memory.byteLength >= LEAST_SPARE_BYTES && this.#spare.length < SPARE_PIECES) this.#spare.push(memory);
    this.release(memory.byteLength);
  }

  release(bytes: number): void {
    this.#held -= bytes;
    if (this.#held === 0) this.#spare = [];
    const waiting = this.#onRelease;
    this.#onRelease = [];
    for (const resolve of waiting) resolve();
  }

  /** Resolves when there is room, which another may take before the caller does. */
  async room(bytes: number, signal: AbortSignal): Promise<void> {
    while (!this.hasRoom(bytes)) {
      await raceAbort(new Promise<void>((resolve) => this.#onRelease.push(resolve)), signal);
    }
  }
}
