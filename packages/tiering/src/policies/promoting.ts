import { fits, type PlacementPolicy } from './policy.js';

/**
 * Adds promotion to a policy: an object read from a slower level moves to the first faster level with room
 * for it.
 *
 * Off by default. First fit fills fast levels first, and an epoch reads all objects equally often, so a move
 * costs a read and a write and gains nothing. Promotion pays off if fast levels become free: with a policy
 * that evicts, or after a restart that finds RAM empty and a disk full.
 */
export function promoting(policy: PlacementPolicy): PlacementPolicy {
  return {
    ...policy,
    name: `promoting(${policy.name})`,
    promote: (object, tiers) => tiers.find((tier) => fits(object, tier))?.level,
  };
}
