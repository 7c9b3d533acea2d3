/**
 * The most memory that a read without a version gets without a look at the file's size: the largest chunk of
 * a fill.
 */
export const MOST_UNSEEN = 16_777_216;

/**
 * Bytes per call where a read is made of several: it may be left behind, reports progress, or goes through
 * memory of a thread. One request of NFS brings as many.
 */
export const PIECE = 1_048_576;
