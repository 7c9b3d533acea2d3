import { fits, type PlacementPolicy } from './policy.js';

/**
 * Places an object on the first level with room, and evicts copies from a full tier: those first that were
 * not read for longest.
 *
 * For access that is not epoch-like: a hot set that moves, or random reads with replacement. **Not for
 * training.** Each epoch reads every object once, so the object that was read longest ago is the one that
 * comes next. With half of the dataset on a tier, shuffled epochs find 15 % of their objects there, where
 * first fit finds 50 %. An order that repeats finds none at all (measured by the test "lru thrashes on
 * epochs"; the expectation is f + (1 - f) ln(1 - f) for a fraction f). Besides, every miss writes to the
 * tier.
 *
 * Room for the next object is made ahead of it, in the background, so the tier holds at most its quota less
 * the largest object. Objects are placed whole or not at all. On a tier with the layout `packed` whole
 * segments are evicted, and what was read lately is kept (`segment-room.ts`). Such a tier also keeps room for
 * one segment: 4 MiB, or a 16th of the quota.
 */
export const lru: PlacementPolicy = {
  name: 'lru',
  place: (object, tiers) => tiers.find((tier) => fits(object, tier))?.level,
  evicts: true,
};
