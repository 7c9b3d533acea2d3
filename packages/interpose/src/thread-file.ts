/**
 * The thread that speaks with the daemon for a program under `register`. The package ships it as it is in the
 * sources. This file is as deep in them as its build is in `dist`, so the same path leads there from both.
 */
export const REGISTER_THREAD = new URL('../src/register/thread/main.js', import.meta.url);
