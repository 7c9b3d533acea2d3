import { EventEmitter } from 'eventemitter3';
import type { Clock } from '@tiered/core';
import { memoryFor, onAbort } from '@tiered/core/internal';

/** Maximum bytes of spare pieces that are kept for the next chunks: four of the largest. */
const MOST_SPARE_BYTES = 2 ** 26;
/** Smaller pieces come from the allocator's own reserve. */
const LEAST_SPARE_BYTES = 2 ** 14;
/**
 * Piece sizes per power of two. Objects of a dataset have any size, and a piece also serves slightly smaller
 * ones.
 */
const SIZES_AN_OCTAVE = 4;

/**
 * Maximum number of pieces, regardless of the limit in bytes. Besides its bytes each piece costs a few KB of
 * objects and promises. With 256 MiB a piece counts as at least 16 KiB.
 */
const MOST_PIECES = 2 ** 14;

/**
 * If no memory is given back for this long while readers wait, its holders are stalled. Even tiers of 10 MB/s
 * with six concurrent writes give back a chunk of 16 MiB in less.
 */
const STALLED_MS = 10_000;

/** Ends a watch. One shared error, because an abort without a reason creates one with a stack. */
const NOBODY_WAITS = new Error('No reader waits any more.');

/** A caller that waits for memory. */
interface Waiting {
  readonly bytes: number;
  readonly go: (stalled: boolean) => void;
}

/** How `whenRoom` waits. */
export interface RoomOptions {
  /** Readers come first, and stop waiting when memory is stalled. */
  readonly isReader: boolean;
  readonly signal: AbortSignal;
}

/**
 * Bounds the bytes of chunks in memory: in flight from the source, or waiting to be written to a tier.
 * Waiting callers get room in order, readers before background work. A holder of memory never waits for more
 * of it, so every wait ends, unless a tier or the source hangs. Then readers are told, and continue without
 * memory.
 *
 * Memory that is not referenced any more is reused for the next chunk of about its size. New memory costs a
 * page fault every 4 KiB, which for a chunk is more than reading it from a page cache. Spare memory is freed
 * when nothing is in flight.
 */
export class MemoryBudget extends EventEmitter<{
  /** A caller begins to wait. */
  wait: () => void;
}> {
  readonly #limit: number;
  readonly #clock: Clock;
  readonly #readers = new Set<Waiting>();
  readonly #background = new Set<Waiting>();
  #held = 0;
  /** The held bytes, as the limit counts them. */
  #counted = 0;
  #releases = 0;
  #stalled = false;
  /** The held bytes that are in flight from the source. */
  #coming = 0;
  #waitedForTiers = 0;
  #watch: AbortController | undefined;
  /** Pieces that may be reused, by their size. */
  readonly #spare = new Map<number, ArrayBufferLike[]>();
  #spareBytes = 0;

  constructor(limit: number, clock: Clock) {
    super();
    this.#limit = limit;
    this.#clock = clock;
  }

  get held(): number {
    return this.#held;
  }

  /** How many times a reader had to wait for room because tiers had not written their chunks yet. */
  get waitedForTiers(): number {
    return this.#waitedForTiers;
  }

  /** Whether a caller waits for room. */
  get isWaitedFor(): boolean {
    return this.#readers.size + this.#background.size > 0;
  }

  /** Whether at least half is free, or nothing is in use. */
  get isMostlyFree(): boolean {
    return this.#held === 0 || 2 * this.#counted <= this.#limit;
  }

  /** Whether readers waited in vain, and nothing was given back since. */
  get isStalled(): boolean {
    return this.#stalled;
  }

  /** Whether this many bytes may be held at all. */
  canHold(bytes: number): boolean {
    return bytes <= this.#limit;
  }

  hasRoom(bytes: number): boolean {
    return this.#counted === 0 || this.#counted + this.#countOf(bytes) <= this.#limit;
  }

  /** Whether there is room that no reader waits for. */
  isFree(bytes: number): boolean {
    return this.#readers.size === 0 && this.hasRoom(bytes);
  }

  /** Whether there is room that no caller waits for. */
  isFreeInOrder(bytes: number): boolean {
    return this.#background.size === 0 && this.isFree(bytes);
  }

  take(bytes: number): void {
    this.#held += bytes;
    this.#counted += this.#countOf(bytes);
  }

  /**
   * Lends memory for a chunk whose bytes were taken, and that is about to arrive. The memory still has its
   * old contents.
   * @param isKept Whether a tier may keep the memory. Then it is new, and as long as the chunk. Default:
   * false.
   */
  lend(bytes: number, isKept = false): Uint8Array {
    this.#coming += bytes;
    if (isKept || bytes < LEAST_SPARE_BYTES) return memoryFor(bytes);
    const size = sizeFor(bytes);
    const spare = this.#spare.get(size)?.pop();
    if (spare === undefined) return memoryFor(size).subarray(0, bytes);
    this.#spareBytes -= size;
    return new Uint8Array(spare, 0, bytes);
  }

  /** Records that a chunk has arrived in lent memory. */
  came(bytes: number): void {
    this.#coming -= bytes;
  }

  /**
   * Takes back lent memory that is not referenced any more. Called before `release`.
   * @param hasCome Whether its chunk has arrived.
   * @param isKept As passed to `lend`.
   */
  giveBack(memory: Uint8Array, hasCome: boolean, isKept = false): void {
    if (!hasCome) this.#coming -= memory.byteLength;
    else if (!isKept && memory.byteLength >= LEAST_SPARE_BYTES) this.#keep(memory.buffer);
  }

  #keep(piece: ArrayBufferLike): void {
    const size = piece.byteLength;
    if (this.#spareBytes + size > MOST_SPARE_BYTES) return;
    this.#spareBytes += size;
    const alike = this.#spare.get(size);
    if (alike === undefined) this.#spare.set(size, [piece]);
    else alike.push(piece);
  }

  /** Releases the bytes of one `take`. */
  release(bytes: number): void {
    this.#held -= bytes;
    this.#counted -= this.#countOf(bytes);
    if (this.#held === 0) this.#forgetSpare();
    this.#releases += 1;
    this.#stalled = false;
    this.#admit();
  }

  /**
   * Calls `use` once there is room for this many bytes and no caller with precedence waits, synchronously if
   * possible. `use` takes the bytes that it needs before it returns, and does not throw. A reader gets
   * `stalled` instead of waiting for stalled memory; then it must not take anything. Abort rejects with
   * `signal.reason`.
   */
  whenRoom<T>(bytes: number, use: (stalled: boolean) => T, { isReader, signal }: RoomOptions): Promise<T> {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    const nobodyBefore = this.#readers.size === 0 && (isReader || this.#background.size === 0);
    if (nobodyBefore && this.hasRoom(bytes)) return Promise.resolve(use(false));
    if (isReader && this.#stalled) return Promise.resolve(use(true));
    if (isReader && 2 * this.#coming < this.#held) this.#waitedForTiers += 1;
    const queue = isReader ? this.#readers : this.#background;
    return new Promise((resolve, reject) => {
      const go = (stalled: boolean) => {
        this.#leave(queue, waiting);
        stopListening();
        resolve(use(stalled));
      };
      const waiting: Waiting = { bytes, go };
      queue.add(waiting);
      const stopListening = onAbort(signal, (reason) => {
        this.#leave(queue, waiting);
        reject(reason);
        this.#admit();
      });
      if (isReader) this.#watchReaders();
      this.emit('wait');
    });
  }

  #forgetSpare(): void {
    this.#spare.clear();
    this.#spareBytes = 0;
  }

  #countOf(bytes: number): number {
    return Math.max(bytes, this.#limit / MOST_PIECES);
  }

  #leave(queue: Set<Waiting>, waiting: Waiting): void {
    queue.delete(waiting);
    if (this.#readers.size === 0) this.#watch?.abort(NOBODY_WAITS);
  }

  #admit(): void {
    for (const queue of [this.#readers, this.#background]) {
      for (const { bytes, go } of queue) {
        if (!this.hasRoom(bytes)) return;
        go(false);
      }
    }
  }

  /** Ends the wait of readers when memory is stalled. */
  #watchReaders(): void {
    if (this.#watch !== undefined) return;
    const watch = new AbortController();
    this.#watch = watch;
    const ended = () => {
      this.#watch = undefined;
      if (this.#readers.size > 0) this.#watchReaders();
    };
    const releases = this.#releases;
    this.#clock.sleep(STALLED_MS, watch.signal).then(() => {
      if (this.#releases === releases) {
        this.#stalled = true;
        for (const { go } of this.#readers) go(true);
      }
      ended();
    }, ended);
  }
}

/** The size of a piece that holds this many bytes. */
function sizeFor(bytes: number): number {
  const step = 2 ** Math.floor(Math.log2(bytes)) / SIZES_AN_OCTAVE;
  return Math.ceil(bytes / step) * step;
}
