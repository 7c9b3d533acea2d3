import { UNPLANNED } from '../plans/frequency-plan.js';
import { fits, type PlacementCandidate, type PlacementPolicy } from './policy.js';

/** Options of `frequency`. */
export interface FrequencyOptions {
  /** A plan of `frequencyPlan`. */
  readonly plan: Uint8Array;
  /**
   * The number of the sample that an object is. Undefined for objects that the plan does not know; they stay
   * in the source.
   */
  readonly sampleOf: (key: string) => number | undefined;
}

/**
 * Places objects where a plan says, and nowhere else (HDMLP, section 5.1). A worker keeps what it will read
 * most often, which by Lemma 1 others read less often, and leaves to others what they will read more often.
 * Nothing is ever evicted. An object that finds no room on its level, because something else is there, stays
 * in the source.
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
