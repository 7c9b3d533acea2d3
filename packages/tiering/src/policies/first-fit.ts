import { firstWithRoom, type PlacementPolicy } from './policy.js';

/**
 * The first level with room, and nothing is ever evicted (MONARCH, CCGrid'22, section III-A). Every object is read
 * once an epoch, so eviction could only trade one object's source reads for another's and add the copying. An object
 * that fits nowhere does not keep smaller ones from being placed. The first that does not fit fills a tier with its
 * beginning, if that is a chunk at least, so that of S bytes and tiers of D all epochs but the first read S - D, to within
 * a chunk.
 */
export const firstFit: PlacementPolicy = { name: 'firstFit', place: firstWithRoom };
