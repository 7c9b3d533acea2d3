import { frequencyPlan, UNPLANNED, type FrequencyPlanOptions } from './frequency-plan.js';
import { MOST_WORKERS, turnOf } from './shared-reads.js';

/** Entry in a table of homes for a sample that no worker keeps. */
export const NO_HOME = MOST_WORKERS;

/** The reads of one worker over all epochs, as returned by `accessTables` of `@tiered/prefetch/sampling`. */
export interface WorkerAccesses extends Pick<FrequencyPlanOptions, 'frequency' | 'first'> {
  /** The number of the worker. */
  readonly worker: number;
}

/** Options of `clusterPlan`. */
export interface ClusterPlanOptions extends Pick<FrequencyPlanOptions, 'sizes' | 'quotas' | 'savedMs'> {
  /** The accesses of every worker of the training. */
  readonly accesses: readonly WorkerAccesses[];
}

/** A worker that keeps a sample according to the plan, and the level that the sample is on. */
export interface SampleHolder {
  readonly worker: number;
  readonly level: number;
}

/** Assigns samples to the levels of all workers. */
export interface ClusterPlan {
  /** The plan of a worker, for `frequency` and `fillOrder`; undefined for a worker that has none. */
  planOf(worker: number): Uint8Array | undefined;
  /** The level of a sample on a worker, or `UNPLANNED`. */
  levelOn(worker: number, sample: number): number;
  /** The workers that keep a sample, ordered by level, fastest first, then by number. O(workers). */
  holders(sample: number): SampleHolder[];
}

/**
 * Makes the plans of all workers of a training with `frequencyPlan` (HDMLP, section 5.1).
 *
 * The plans depend only on inputs that all workers know: the seed, the sizes, the quotas and `savedMs`. So
 * each worker computes the same plans, and knows without asking which worker has a sample. `savedMs` must be
 * the same function on all workers: taken from one profile, never from a worker's own measurements. A sample
 * that a worker reads too rarely to keep is read more often by other workers (Lemma 1), and usually one of
 * them keeps it. All workers have the same levels.
 *
 * The plans are made one after the other, and their times add up. Keeps one byte per sample and worker. For
 * many workers, make one plan at a time with `frequencyPlan`, and keep only the result of `homesOf`.
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
 * Names a home for each sample that any worker keeps: one of the workers that have it on the fastest level.
 * The choice among several differs from sample to sample, so that all workers are asked equally often.
 *
 * The plans may come from a generator that makes one at a time. Keeps two bytes per sample, for any number of
 * workers, and needs one more while it runs.
 * @param plans The level of each sample on each worker, with the number of the worker, in any order.
 * @param size The number of samples, and of workers in the training (at most 65,535).
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
