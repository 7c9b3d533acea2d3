/**
 * The code of the index's thread. The package ships it as it is in the sources, and this file is as deep in
 * them as its build is in `dist`, so the same path works from both.
 */
export const INDEX_THREAD = new URL('../src/index/thread/main.js', import.meta.url);
