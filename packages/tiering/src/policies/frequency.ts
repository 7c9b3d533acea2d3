import { UNPLANNED } from '../plans/frequency-plan.js';
import { fits, type PlacementCandidate, type PlacementPolicy } from './policy.js';

/** Options of `frequency`. */
export interface FrequencyOptions {
  /** The plan, from `frequencyPlan`. */
  readonly plan: Uint8Array;
  /**
   * Returns the sample number of an object. Undefined for objects that are not in the plan; they stay in the
   * source.
   */
  readonly sampleOf: (key: string) => number | undefined;
}

/**
 * Places objects on the levels that a plan assigns, and nowhere else (HDMLP, section 5.1). A worker keeps the
 * samples that it will read most often, which by Lemma 1 other workers read less often. It leaves to others
 * the samples that they will read more often. Nothing is ever evicted. An object stays in the source if other
 * data takes the room on its level.
 */
export function frequency({ plan, sampleOf }: FrequencyOptions): PlacementPolicy {
  return {
    name: 'frequency',
    place: (object: PlacementCandidate, tiers) => {
      const sample = sampleOf(object.key);
      const planned = sample === undefined ? UNPLANNED : plan[sample];
      return tiers.find((tier) => tier.level === planned && fits(object, tier))?.level;
    },
  };
}
