import { noPfs } from './no-pfs.js';
import { parallelStaging } from './parallel-staging.js';
import { firstFit, lru } from './placed.js';
import {
  deepioOpportunistic,
  deepioOrdered,
  lbannDynamic,
  lbannPreloading,
  localityAware,
} from './shared-memory.js';
import type { Strategy } from './strategy.js';

/** Never stalls: the lower bound, whatever the storage. */
const perfect: Strategy = { name: 'perfect', access: 'perfect' };

/** Reads each sample from the source when it is requested. Reads nothing ahead, and keeps nothing. */
const naive: Strategy = { name: 'naive', access: 'blocking' };

/**
 * Fills a staging buffer from the source in the order of access, and keeps nothing: double buffering,
 * tf.data.
 */
const stagingBuffer: Strategy = { name: 'staging-buffer' };

/** All policies of section 6 with their defaults, plus MONARCH's first fit and LRU. */
export const STRATEGIES: readonly Strategy[] = [
  perfect,
  naive,
  stagingBuffer,
  deepioOrdered,
  deepioOpportunistic,
  parallelStaging,
  lbannDynamic,
  lbannPreloading,
  localityAware(),
  firstFit,
  lru,
  noPfs(),
];
