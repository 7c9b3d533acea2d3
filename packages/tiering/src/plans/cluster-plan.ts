import { frequencyPlan, UNPLANNED, type FrequencyPlanOptions } from './frequency-plan.js';

/** What one worker will read in all epochs, as `accessTables` of `@tiered/prefetch/sampling` gives it. */
export interface WorkerAccesses extends Pick<FrequencyPlanOptions, 'frequency' | 'first'> {
  /** Its number. */
  readonly worker: number;
}

/** Options of `clusterPlan`. */
export interface ClusterPlanOptions extends Pick<FrequencyPlanOptions, 'sizes' | 'quotas' | 'savedMs'> {
  /** Of every worker of the training. */
  readonly accesses: readonly WorkerAccesses[];
}

/** A worker that is to have a sample. */
export interface SampleHolder {
  readonly worker: number;
  readonly level: number;
}

/** Which sample is on which level of which worker. */
export interface ClusterPlan {
  /** The plan of a worker, for `frequency` and `fillOrder`; undefined for one that there is not. */
  planOf(worker: number): Uint8Array | undefined;
  /** The level of a worker that a sample is to live on, or `UNPLANNED`. */
  levelOn(worker: number, sample: number): number;
  /** Workers that are to have a sample, those with it on the fastest level first, then by number. O(workers). */
  holders(sample: number): SampleHolder[];
}

/**
 * The plans of all workers of a training, by `frequencyPlan` (HDMLP, section 5.1). They follow from what everybody knows (the
 * seed, the sizes, the quotas), so each worker computes the same ones, and knows without asking whom to ask for a
 * sample. What a worker reads too seldom to keep, others read the more (Lemma 1), and one of them mostly keeps it.
 *
 * Costs what the plans cost, one after the other; keeps one byte a sample and worker. All workers have the same levels.
 * @throws As `frequencyPlan`.
 */
export function clusterPlan({ accesses, sizes, quotas, savedMs }: ClusterPlanOptions): ClusterPlan {
  const plans = new Map<number, Uint8Array>();
  for (const { worker, frequency, first } of accesses)
    plans.set(worker, frequencyPlan({ frequency, first, sizes, quotas, savedMs }));
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
