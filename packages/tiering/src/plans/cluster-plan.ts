import { frequencyPlan, UNPLANNED, type FrequencyPlanOptions } from './frequency-plan.js';

/** What one worker will read in all epochs, as `accessTables` of `@tiered/prefetch/sampling` gives it. */
export interface WorkerAccesses extends Pick<FrequencyPlanOptions, 'frequency' | 'first'> {
  /** The number of the worker. */
  readonly worker: number;
}

/** Options of `clusterPlan`. */
export interface ClusterPlanOptions extends Pick<FrequencyPlanOptions, 'sizes' | 'quotas' | 'savedMs'> {
  /** The accesses of every worker of the training. */
  readonly accesses: readonly WorkerAccesses[];
}

/** A worker that keeps a sample according to the plan, and on which level. */
export interface SampleHolder {
  readonly worker: number;
  readonly level: number;
}

/** Says which sample lives on which level of which worker. */
export interface ClusterPlan {
  /** The plan of a worker, for `frequency` and `fillOrder`; undefined for a worker that has none. */
  planOf(worker: number): Uint8Array | undefined;
  /** The level of a worker that a sample is to live on, or `UNPLANNED`. */
  levelOn(worker: number, sample: number): number;
  /** The workers that keep a sample: those with it on the fastest level first, then by number. O(workers). */
  holders(sample: number): SampleHolder[];
}

/**
 * Makes the plans of all workers of a training, by `frequencyPlan` (HDMLP, section 5.1).
 *
 * The plans follow from what everybody knows: the seed, the sizes, the quotas and `savedMs`. So each worker
 * computes the same plans, and knows without asking which worker has a sample. `savedMs` has to be the same
 * function on all workers: of one profile, and never of what a worker measured itself. A sample that a worker
 * reads too seldom to keep is read more often by others (Lemma 1), and one of them mostly keeps it. All
 * workers have the same levels.
 *
 * Takes the time of the plans, which are made one after the other. Keeps one byte a sample and worker.
 * @throws As `frequencyPlan`.
 */
export function clusterPlan({ accesses, sizes, quotas, savedMs }: ClusterPlanOptions): ClusterPlan {
  const plans = new Map<number, Uint8Array>();
  for (const { worker, frequency, first } of accesses)
    plans.set(worker, frequencyPlan({ frequency, first, sizes, quotas, savedMs }));
  return planOfAll(plans);
}

/** A plan of tables by worker: the level of each sample. */
export function planOfAll(plans: ReadonlyMap<number, Uint8Array>): ClusterPlan {
  return {
    planOf: (worker) => plans.get(worker),
    levelOn: (worker, sample) => plans.get(worker)?.[sample] ?? UNPLANNED,
    holders: (sample) =>
      [...plans]
        .map(([worker, plan]) => ({ worker, level: plan[sample] ?? UNPLANNED }))
        .filter(({ level }) => level !== UNPLANNED)
        .sort((a, b) => a.level - b.level || a.worker - b.worker),
  };
}
