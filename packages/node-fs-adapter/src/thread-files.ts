/*
 * Where the code of worker threads is. The package brings its sources along, and this file is as deep in them as what is built of
 * it, so the same path leads there from both.
 */

/** The worker that reads batches. */
export const BATCH_THREAD = new URL('../src/read/thread/main.js', import.meta.url);

/** The worker that makes calls to slow storage. */
export const CALL_THREAD = new URL('../src/read/thread/calls.js', import.meta.url);
