import type { ClusterPlan } from '@tiered/tiering/plans';
import type { HashOf, Homes } from './homes.js';
import { weightOf } from './rendezvous.js';

/** Which worker keeps which object, as a plan of all workers says. */
export interface HomePlan {
  /** The plan, as `clusterPlan` makes it of the seed, on every worker alike. Its workers are ranks. */
  readonly plan: Pick<ClusterPlan, 'holders'>;
  /** The number of the sample that an object is in the plan; undefined for one without. */
  readonly sampleOf: (key: string) => number | undefined;
  /** Tells plans apart: a digest of at most 64 characters, the same on all workers. Default: `plan`. */
  readonly id?: string | undefined;
}

/**
 * Homes by plan (HDMLP, section 5): a worker keeps what it will read most often, and the others know that
 * from the seed. Of several workers that keep a sample, the home is one that has it on its fastest level;
 * which of them differs from sample to sample, so that all are asked equally often.
 */
export class PlanHomes implements Homes {
  readonly #plan: HomePlan;
  readonly #hashOf: HashOf;

  constructor(plan: HomePlan, hashOf: HashOf) {
    this.#plan = plan;
    this.#hashOf = hashOf;
  }

  of(key: string): readonly number[] {
    const sample = this.#plan.sampleOf(key);
    if (sample === undefined) return [];
    const [first, ...others] = this.#plan.plan.holders(sample);
    if (first === undefined) return [];
    // By the key, since workers may number their samples as they like.
    const hash = this.#hashOf(key);
    let [home, most] = [first.worker, weightOf(hash, first.worker)];
    for (const { worker, level } of others) {
      if (level !== first.level) break;
      const weight = weightOf(hash, worker);
      if (weight > most) [home, most] = [worker, weight];
    }
    return [home];
  }
}
