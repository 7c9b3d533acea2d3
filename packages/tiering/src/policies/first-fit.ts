import { firstWithRoom, type PlacementPolicy } from './policy.js';

/**
 * Places an object on the first level with room, and never evicts (MONARCH, CCGrid'22, section III-A).
 *
 * Every object is read once an epoch, so eviction could only trade one object's source reads for another's,
 * and add the copying. An object that fits nowhere does not keep smaller ones from being placed. The first
 * object that does not fit fills a tier with its beginning, if that is at least a chunk. So of a dataset of S
 * bytes, with tiers of D bytes, every epoch but the first reads S - D from the source, to within a chunk.
 */
export const firstFit: PlacementPolicy = { name: 'firstFit', place: firstWithRoom };
