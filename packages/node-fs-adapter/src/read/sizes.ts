/**
 * The most memory that a read without a version gets without a look at the file's size: the largest chunk of
 * a fill.
 */
export const MOST_UNSEEN = 16_777_216;

/**
 * The most bytes that the event loop's thread copies at a time, from a native thread's memory to memory that
 * may be taken away. Memory that is touched for the first time takes a millisecond for each MiB.
 */
export const COPIED_AT_ONCE = 4_194_304;

/**
 * Bytes per call where a read is made of several: it may be left behind, reports progress, or goes through
 * memory of a thread. One request of NFS brings as many.
 */
export const PIECE = 1_048_576;
