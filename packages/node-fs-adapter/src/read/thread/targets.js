// @ts-check
import { readFullyBlocking } from './file-calls.js';
import { ABANDONED, WRITING } from './batch.js';

/** Small enough to stay in the processor's cache between a read and the copy. */
const SCRATCH = 256 * 1024;

/**
 * How a thread fills the targets of batches that may be abandoned at any moment, after which it must not
 * write to them. While the kernel reads into a target nobody can take that back. So what comes from a disk,
 * which may hang, is read into memory of the thread's own, and copied if somebody still waits. That costs a
 * third of the time of files that are in memory, which do not hang: those are read straight into the target.
 * Should the disk hang with the first file that is not in memory any more, an abort waits for that one.
 */
export class Targets {
  #scratch;
  #isCareful = true;
  #blocks = -1;

  /** @param {boolean} mayHang Whether there is to be such care at all. */
  constructor(mayHang) {
    this.#scratch = mayHang ? new Uint8Array(SCRATCH) : undefined;
  }

  /**
   * A batch begins. It is read with care if anything in this process was read from a disk since the one
   * before: that the kernel counts, and time would not tell, because another program may have had the core.
   */
  begin() {
    if (this.#scratch === undefined) return;
    const { fsRead } = process.resourceUsage();
    this.#isCareful = fsRead !== this.#blocks;
    this.#blocks = fsRead;
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
    if (scratch === undefined || !this.#isCareful)
      return writing(state, () => readFullyBlocking(file, target, position));
    for (let filled = 0; ;) {
      const piece = scratch.subarray(0, Math.min(SCRATCH, target.byteLength - filled));
      const count = readFullyBlocking(file, piece, position + filled);
      writing(state, () => target.set(piece.subarray(0, count), filled));
      filled += count;
      if (count < SCRATCH || filled === target.byteLength) return filled;
    }
  }
}

/**
 * Does what writes to a target, unless the batch was abandoned; whoever abandons it meanwhile is told when
 * that is done.
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
