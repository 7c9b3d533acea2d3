// @ts-check

/**
 * The form in which a batch of reads goes to a reader thread, and its outcomes come back: names in one
 * string, and numbers in memory that both sides see, so that a batch costs one message each way and no object
 * for each read.
 */

/** What a read came to, as long as it is not known, or if it has to be made again by the driver. */
export const NOT_READ = -1;

/** Numbers for each read: the outcome, which memory, where in it, how many bytes, and where in the file. */
export const COLUMNS = 5;

/** The first number is the batch's state, as `Int32Array`; reads begin behind it. */
export const FIRST = 1;

/**
 * Bits of the state. The driver's: nobody waits for the batch any more. The thread's: it may write to a
 * target now.
 */
export const ABANDONED = 1;
export const WRITING = 2;

/**
 * A batch on its way to a thread; its answer is how long it took, in milliseconds.
 *
 * @typedef {object} Batch
 * @property {SharedArrayBuffer} numbers As `Float64Array`.
 * @property {string} names Keys, with NUL between; an empty one is not read.
 * @property {string} versions The version that each must be of, with NUL between; empty for any.
 * @property {readonly SharedArrayBuffer[]} memories Where the targets are.
 */

/**
 * The state of a batch.
 *
 * @param {Batch} batch
 * @returns {Int32Array}
 */
export function stateOf({ numbers }) {
  return new Int32Array(numbers, 0, 1);
}
