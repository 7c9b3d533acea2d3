import type { Strategy } from './strategy.js';

/** No stalls: the lower bound, whatever the storage. */
export const perfect: Strategy = { name: 'perfect', access: 'perfect' };

/** Reads each sample from the source when it is wanted; nothing ahead, nothing kept. */
export const naive: Strategy = { name: 'naive', access: 'blocking' };

/** Fills a staging buffer from the source in the order of access, and keeps nothing: double buffering, tf.data. */
export const stagingBuffer: Strategy = { name: 'staging-buffer' };
