import type { Strategy } from './strategy.js';

/** Never stalls: the lower bound, whatever the storage. */
export const perfect: Strategy = { name: 'perfect', access: 'perfect' };

/** Reads each sample from the source when it is wanted. Reads nothing ahead, and keeps nothing. */
export const naive: Strategy = { name: 'naive', access: 'blocking' };

/**
 * Fills a staging buffer from the source in the order of access, and keeps nothing: double buffering,
 * tf.data.
 */
export const stagingBuffer: Strategy = { name: 'staging-buffer' };
