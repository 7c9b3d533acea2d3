import { frequency, type FrequencyOptions } from './frequency.js';
import type { PlacementPolicy } from './policy.js';

/** A policy that gets its plan once the training is known. */
export interface PlanFollower extends PlacementPolicy {
  /**
   * Follows this plan from now on, as `frequency` does. Copies placed earlier stay where they are.
   * @param options The plan, and the mapping from objects to its samples.
   */
  follow(options: FrequencyOptions): void;
}

/** Whether a policy follows plans. */
export function isPlanFollower(policy: PlacementPolicy): policy is PlanFollower {
  return 'follow' in policy;
}

/**
 * The policy `frequency` for a plan that is made after the hierarchy. A `DataLoader` with the option
 * `clairvoyant` makes the plan from the seed of its training. Nothing is placed before there is a plan,
 * because placed copies are never evicted.
 */
export function planFollower(): PlanFollower {
  let planned: PlacementPolicy | undefined;
  return {
    name: 'planFollower',
    place: (object, tiers) => planned?.place(object, tiers),
    follow: (options) => {
      planned = frequency(options);
    },
  };
}
