/**
 * The script of the index thread. The package ships it as source. This file is as deep in `src` as its build
 * is in `dist`, so the same path works from both.
 */
export const INDEX_THREAD = new URL('../src/index/thread/main.js', import.meta.url);
