/*
 * The code of threads. The package ships it as it is in the sources. This file is as deep in them as its
 * build is in `dist`, so the same path leads there from both.
 */

/** A worker, which makes batches. */
export const WORKER_THREAD = new URL('../src/workers/main.js', import.meta.url);

/** The thread of a whole loader. */
export const LOADER_THREAD = new URL('../src/threaded/main.js', import.meta.url);
