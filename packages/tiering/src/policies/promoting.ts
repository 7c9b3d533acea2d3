import { fits, type PlacementPolicy } from './policy.js';

/**
 * A policy, and promotion with it: an object that was read from a slower level moves to the first faster one with room
 * for it. Off by default, because first fit fills fast levels first and an epoch reads everything alike: moving costs a
 * read and a write, and gains nothing. It pays where fast levels become free, as with a policy that evicts, or where a
 * restart finds RAM empty and a disk full.
 */
export function promoting(policy: PlacementPolicy): PlacementPolicy {
  return {
    ...policy,
    name: `promoting(${policy.name})`,
    promote: (object, tiers) => tiers.find((tier) => fits(object, tier))?.level,
  };
}
