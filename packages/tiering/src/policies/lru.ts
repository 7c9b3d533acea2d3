import { fits, type PlacementPolicy } from './policy.js';

/**
 * Places an object on the first level with room, and evicts the least recently read copies from a full tier.
 *
 * For access without epochs: a moving hot set, or random reads with replacement. **Not for training.** Each
 * epoch reads every object once, so the least recently read object is the one that comes next. With half of
 * the dataset on a tier, shuffled epochs find 15 % of their objects there, and first fit finds 50 %. A
 * repeated order finds none at all. The test "lru thrashes on epochs" measures this; the expectation is
 * f + (1 - f) ln(1 - f) for a fraction f. In addition, every miss writes to the tier.
 *
 * Room for the next object is freed ahead of time, in the background, so the tier holds at most its quota
 * minus the largest object. Objects are placed whole or not at all. On a tier with the layout `packed`, whole
 * segments are evicted, and recently read copies are kept (`segment-room.ts`). Such a tier also keeps room
 * for one segment: 4 MiB, or a 16th of the quota.
 */
export const lru: PlacementPolicy = {
  name: 'lru',
  place: (object, tiers) => tiers.find((tier) => fits(object, tier))?.level,
  evicts: true,
};
