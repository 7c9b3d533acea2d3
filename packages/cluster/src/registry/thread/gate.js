// @ts-check

/**
 * What the numbers say that a thread shares with who started it: that it is to make no more calls, and that
 * it is within one.
 */
export const CLOSED = 0;
export const IN_CALL = 1;
