/**
 * The code of worker threads. The package ships it as it is in the sources. This file is as deep in them as
 * its build is in `dist`, so the same path leads there from both.
 */
export const WORKER_THREAD = new URL('../src/workers/main.js', import.meta.url);
