/*
 * Where the code of worker threads is. The package includes it as it is in the sources. This file has the
 * same depth in the sources as in the build, so the same path leads there from both.
 */

/** The worker that reads batches. */
export const BATCH_THREAD = new URL('../src/read/thread/main.js', import.meta.url);

/** The worker that makes calls to slow storage. */
export const CALL_THREAD = new URL('../src/read/thread/calls.js', import.meta.url);
