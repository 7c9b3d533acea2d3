// @ts-check
import { readFullyBlocking } from './file-calls.js';
import { ABANDONED, WRITING } from './batch.js';

/** Small enough to stay in the processor's cache between a read and the copy. */
const SCRATCH = 256 * 1024;

/** What files in memory take at most: to open one, and to copy its bytes. A disk takes longer. */
const IN_MEMORY_MS = 0.03;
const IN_MEMORY_MS_A_BYTE = 1000 / 3e9;

/** Files that are read with care after one that took longer, and at first. */
const CAREFUL_FOR = 16;

/**
 * How a thread fills the targets of batches that may be abandoned at any moment, after which it must not write to them.
 * While the kernel reads into a target nobody can take that back. So what comes from a disk, which may hang, is read into
 * memory of the thread's own, and copied if somebody still waits. That costs a third of the time of files that are in
 * memory, which do not hang: those are read straight into the target.
 */
export class Targets {
  #scratch;
  #careful = CAREFUL_FOR;

  /** @param {boolean} mayHang Whether there is to be such care at all. */
  constructor(mayHang) {
    this.#scratch = mayHang ? new Uint8Array(SCRATCH) : undefined;
  }

  /** Whether the next file is read with care. */
  get isCareful() {
    return this.#scratch !== undefined && this.#careful > 0;
  }

  /**
   * Fills a target from a position in a file; returns the bytes read.
   *
   * @param {Int32Array} state
   * @param {{ readonly fd: number; readonly size: number }} file
   * @param {Uint8Array} target
   * @param {number} position
   * @returns {number}
   * @throws an error if the batch was abandoned, or the read fails.
   */
  fill(state, file, target, position) {
    const scratch = this.#scratch;
    if (scratch === undefined || this.#careful === 0)
      return writing(state, () => readFullyBlocking(file, target, position));
    for (let filled = 0; ;) {
      const piece = scratch.subarray(0, Math.min(SCRATCH, target.byteLength - filled));
      const count = readFullyBlocking(file, piece, position + filled);
      writing(state, () => target.set(piece.subarray(0, count), filled));
      filled += count;
      if (count < SCRATCH || filled === target.byteLength) return filled;
    }
  }

  /**
   * A file was read.
   *
   * @param {number} ms How long that took.
   * @param {number} bytes How many there were.
   */
  learn(ms, bytes) {
    if (ms > IN_MEMORY_MS + bytes * IN_MEMORY_MS_A_BYTE) this.#careful = CAREFUL_FOR;
    else if (this.#careful > 0) this.#careful -= 1;
  }
}

/**
 * Does what writes to a target, unless the batch was abandoned; whoever abandons it meanwhile is told when that is done.
 *
 * @template T
 * @param {Int32Array} state
 * @param {() => T} write
 * @returns {T}
 */
function writing(state, write) {
  if (Atomics.compareExchange(state, 0, 0, WRITING) === ABANDONED) throw new Error('nobody waits any more');
  try {
    return write();
  } finally {
    if (Atomics.and(state, 0, ABANDONED) !== WRITING) Atomics.notify(state, 0);
  }
}
