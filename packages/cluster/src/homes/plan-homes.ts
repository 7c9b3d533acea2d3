import { NO_HOME } from '@tiered/tiering/plans';
import type { Homes } from './homes.js';

/** Which worker keeps which object, as a plan of all workers says. */
export interface HomePlan {
  /**
   * The rank that keeps each sample for all, or `NO_HOME`: of `sharedPlan`, or of `homesOf` for other plans.
   * Made of the seed, on every worker alike. Two bytes a sample, whatever the number of workers.
   */
  readonly homes: Uint16Array;
  /**
   * The number of the sample that an object is in the plan, the same on all workers; undefined for one
   * without.
   */
  readonly sampleOf: (key: string) => number | undefined;
  /** Tells plans apart: a digest of at most 64 characters, the same on all workers. Default: `plan`. */
  readonly id?: string | undefined;
}

/**
 * Homes by plan (HDMLP, section 5): a worker keeps what it will read most often, and the others know that
 * from the seed.
 */
export class PlanHomes implements Homes {
  readonly #plan: HomePlan;

  constructor(plan: HomePlan) {
    this.#plan = plan;
  }

  of(key: string): readonly number[] {
    const { homes, sampleOf } = this.#plan;
    const sample = sampleOf(key);
    const home = sample === undefined ? NO_HOME : (homes[sample] ?? NO_HOME);
    return home === NO_HOME ? [] : [home];
  }
}
