import { NO_HOME } from '@tiered/tiering/plans';
import type { Homes } from './homes.js';

/** A plan, common to all workers, that says which worker keeps which object. */
export interface HomePlan {
  /**
   * For each sample, the rank that keeps it for all, or `NO_HOME`. Comes from `sharedPlan`, or from `homesOf`
   * for other plans. Every worker derives the same values from the seed. Two bytes a sample, whatever the
   * number of workers.
   */
  readonly homes: Uint16Array;
  /** The number of an object's sample in the plan, the same on all workers; undefined if it has none. */
  readonly sampleOf: (key: string) => number | undefined;
  /** Distinguishes plans: a digest of at most 64 characters, the same on all workers. Default: `plan`. */
  readonly id?: string | undefined;
}

/**
 * Homes by plan (HDMLP, section 5): a worker keeps the objects it will read most often, and the others know
 * these from the seed.
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
