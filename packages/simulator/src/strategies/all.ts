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
import { naive, perfect, stagingBuffer } from './simple.js';
import type { Strategy } from './strategy.js';

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
