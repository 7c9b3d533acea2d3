import { firstWithRoom, type PlacementPolicy } from './policy.js';

/**
 * Places an object on the first level with room, and never evicts (MONARCH, CCGrid'22, section III-A).
 *
 * Every object is read once per epoch, so eviction could only trade one object's source reads for another's,
 * at the cost of copying. An object that fits nowhere does not prevent smaller ones from being placed. The
 * first object that does not fit fills a tier with its beginning, if that is at least a chunk. So with a
 * dataset of S bytes and tiers of D bytes, every epoch but the first reads S - D bytes from the source, to
 * within a chunk.
 */
export const firstFit: PlacementPolicy = { name: 'firstFit', place: firstWithRoom };
