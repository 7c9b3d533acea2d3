/**
 * Reusable memory that threads share.
 *
 * **Problem.** V8 does not count shared memory as a reason to collect, and JavaScript cannot free it. If each
 * large object got memory of its own, gigabytes would wait for the next collection.
 *
 * **Moving parts.** Each owner has a `ReusedMemory`, which keeps freed pieces for the next request. Small
 * pieces are kept by their length, which is a power of two. Large ones are growable: they reserve address
 * space for the largest object, and only what was written to is memory. So a larger object grows the piece of
 * a smaller one, and nothing is left over.
 *
 * **Invariants.** It holds as many pieces as were in use at once, and each is at most as large as the largest
 * object that it served. Pieces that an owner leaves behind at its end are held weakly: another owner may
 * take them until the collector does.
 */
import { constants } from 'node:buffer';
import { invariant } from '@tiered/core/internal';
import type { Block } from './arena.js';

/**
 * Bytes from which a piece is growable. Views on growable memory take twice as long to make, and each piece
 * takes two mappings, of which a process has 65,530.
 */
const LARGE = 16 * 2 ** 20;

/** Address space of a growable piece, in bytes: that of the largest object that Node 20 can hold. */
const RESERVED = Math.min(2 ** 32, constants.MAX_LENGTH);

const LEAST = 64;

/** Memory that its owners no longer need. */
let left: WeakRef<SharedArrayBuffer>[] = [];

/** Offers memory that is no longer written to for the next request, until the collector takes it. */
export function leave(memories: readonly SharedArrayBuffer[]): void {
  const isThere = (ref: WeakRef<SharedArrayBuffer>) => ref.deref() !== undefined;
  left = [...left.filter(isThere), ...memories.map((memory) => new WeakRef(memory))];
}

/** Returns memory of exactly this many bytes, possibly left by an earlier owner. Its content is undefined. */
export function sharedMemory(bytes: number): SharedArrayBuffer {
  return adopt((memory) => !memory.growable && memory.byteLength === bytes) ?? new SharedArrayBuffer(bytes);
}

/** Memory of one owner, for pieces of any size. The initial content of a piece is undefined. */
export class ReusedMemory {
  readonly #free = new Map<number, SharedArrayBuffer[]>();
  #calls = 0;

  /** @throws RangeError if there is no such memory. */
  take(bytes: number): Block {
    const kind = kindOf(bytes);
    const free = this.#free.get(kind) ?? [];
    this.#free.set(kind, free);
    const memory = kind < Infinity ? (free.pop() ?? sharedMemory(kind)) : largeOf(free, bytes);
    let isFree = false;
    return {
      bytes: new Uint8Array(memory, 0, bytes),
      free: () => {
        invariant(!isFree, 'memory was given back twice');
        isFree = true;
        free.push(memory);
      },
    };
  }

  /**
   * Lends memory to a call, and takes it back when the call succeeds. After a failure the collector gets it,
   * because the failed call may go on writing. When the last call in flight ends, free memory is left to
   * others.
   * @throws RangeError if there is no such memory; as the call does.
   */
  async lend<T>(bytes: number, call: (memory: Uint8Array) => Promise<T>): Promise<T> {
    this.#calls += 1;
    try {
      const block = this.take(bytes);
      const result = await call(block.bytes);
      block.free();
      return result;
    } finally {
      this.#calls -= 1;
      if (this.#calls === 0) this.rest();
    }
  }

  /** Leaves free memory to others, because the owner has no use for it at the moment. */
  rest(): void {
    for (const free of this.#free.values()) leave(free.splice(0));
  }
}

/** The length of a small piece; `Infinity` for large ones. */
function kindOf(bytes: number): number {
  return bytes > LARGE ? Infinity : 2 ** Math.ceil(Math.log2(Math.max(bytes, LEAST)));
}

/** Takes the smallest that is large enough, or grows the largest. */
function largeOf(free: SharedArrayBuffer[], bytes: number): SharedArrayBuffer {
  let best: SharedArrayBuffer | undefined;
  for (const memory of free) if (canHold(memory, bytes) && isBetter(memory, best, bytes)) best = memory;
  if (best !== undefined) free.splice(free.indexOf(best), 1);
  best ??= adopt((memory) => memory.growable && canHold(memory, bytes)) ?? reserve(bytes);
  if (best.byteLength < bytes) best.grow(bytes);
  return best;
}

function canHold(memory: SharedArrayBuffer, bytes: number): boolean {
  return memory.maxByteLength >= bytes;
}

function isBetter(memory: SharedArrayBuffer, than: SharedArrayBuffer | undefined, bytes: number): boolean {
  if (than === undefined) return true;
  const [isEnough, wasEnough] = [memory.byteLength >= bytes, than.byteLength >= bytes];
  if (isEnough !== wasEnough) return isEnough;
  return memory.byteLength < than.byteLength === isEnough;
}

function reserve(bytes: number): SharedArrayBuffer {
  try {
    return new SharedArrayBuffer(bytes, { maxByteLength: Math.max(bytes, RESERVED) });
  } catch {
    // A limit on address space (`ulimit -v`) may leave room for the object itself.
    return new SharedArrayBuffer(bytes);
  }
}

function adopt(isRight: (memory: SharedArrayBuffer) => boolean): SharedArrayBuffer | undefined {
  for (const [i, ref] of left.entries()) {
    const memory = ref.deref();
    if (memory === undefined || !isRight(memory)) continue;
    left.splice(i, 1);
    return memory;
  }
  return undefined;
}
