/*
 * The code of threads. The package ships it as it is in the sources. This file is as deep there as its build
 * is in `dist`, so the same relative path works from both.
 */

/** The code of a worker, which makes batches. */
export const WORKER_THREAD = new URL('../src/workers/main.js', import.meta.url);

/** The code of a thread that runs a whole loader. */
export const LOADER_THREAD = new URL('../src/threaded/main.js', import.meta.url);
