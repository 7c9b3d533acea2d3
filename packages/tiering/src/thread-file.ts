/**
 * The code of the index's thread. The package brings its sources along, and this file is as deep in them as what is built of
 * it, so the same path leads there from both.
 */
export const INDEX_THREAD = new URL('../src/tier/index/thread/main.js', import.meta.url);
