import { frequencyPlan, UNPLANNED, type FrequencyPlanOptions } from './frequency-plan.js';
import { MOST_WORKERS, turnOf } from './shared-reads.js';

/** In a table of homes: nobody keeps the sample. */
export const NO_HOME = MOST_WORKERS;

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
 * Takes the time of the plans, which are made one after the other. Keeps one byte a sample and worker. For
 * many workers make one plan at a time by `frequencyPlan`, and keep no more than `homesOf` does.
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

/**
 * Names one worker for each sample that anybody keeps, its home: one that has it on its fastest level. Which
 * of several that is differs from sample to sample, so that all are asked equally often.
 *
 * The plans may be made one after the other, as a generator does. Keeps two bytes a sample, whatever the
 * number of workers; needs one more while it works.
 * @param plans The level of each sample on each worker, with the number of the worker, in any order.
 * @param size Samples, and workers of the training (at most 65,535).
 * @returns The home of each sample, or `NO_HOME`.
 */
export function homesOf(
  plans: Iterable<readonly [worker: number, plan: Uint8Array]>,
  { samples, workers }: { readonly samples: number; readonly workers: number },
): Uint16Array {
  const homes = new Uint16Array(samples).fill(NO_HOME);
  const levels = new Uint8Array(samples).fill(UNPLANNED);
  for (const [worker, plan] of plans)
    for (let sample = 0; sample < samples; sample++) {
      const [level, present] = [plan[sample] ?? UNPLANNED, levels[sample] ?? UNPLANNED];
      if (level === UNPLANNED || level > present) continue;
      const home = homes[sample] ?? NO_HOME;
      if (level === present && turnOf(worker, sample, workers) > turnOf(home, sample, workers)) continue;
      homes[sample] = worker;
      levels[sample] = level;
    }
  return homes;
}
