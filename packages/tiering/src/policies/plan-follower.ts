import { frequency, type FrequencyOptions } from './frequency.js';
import type { PlacementPolicy } from './policy.js';

/** A policy whose plan comes when the training is known. */
export interface PlanFollower extends PlacementPolicy {
  /**
   * Places by this plan from now on, as `frequency` does. Copies that were placed before stay where they are.
   * @param options The plan, and which of its samples an object is.
   */
  follow(options: FrequencyOptions): void;
}

/** Whether a policy follows plans. */
export function isPlanFollower(policy: PlacementPolicy): policy is PlanFollower {
  return 'follow' in policy;
}

/**
 * The policy `frequency` for a plan that is made after the hierarchy, from the seed of the training that it
 * serves: a `DataLoader` with the option `clairvoyant` makes it. Until there is a plan, nothing is placed,
 * because what is placed is never evicted.
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
