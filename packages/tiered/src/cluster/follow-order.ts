import type { Cluster } from '@tiered/cluster';
import type { ClusterPlanSettings } from '@tiered/config';
import type { Clock, Hierarchy } from '@tiered/core';
import { definedOf } from '@tiered/core/internal';
import { followPlan, planOfRanks } from '@tiered/loader/internal';
import type { PlanFollower } from '@tiered/tiering';
import { keysIn } from '../cli/shared/look.js';
import { samplerOf } from '../cli/shared/plan.js';

/** What the order of all workers is followed with. */
export interface FollowedOrder {
  readonly plan: ClusterPlanSettings;
  /** The number of workers. */
  readonly ranks: number;
  readonly cluster: Cluster;
  readonly policy: PlanFollower;
  readonly clock: Clock;
  /** Ends the wait for the others, and the filling. */
  readonly signal: AbortSignal;
}

/**
 * Has a hierarchy keep what all workers together plan to keep. Each object is a sample; samples are numbered
 * in the order of their keys, as `tiered warmup` numbers them.
 */
export async function followOrder(
  hierarchy: Hierarchy,
  { plan, ranks, cluster, policy, clock, signal }: FollowedOrder,
): ReturnType<typeof followPlan> {
  const keys = await keysIn(hierarchy, () => true);
  const { namespace } = hierarchy;
  const { sampler: name, seed, epochs, batchSize, dropLast = false } = plan;
  const training = { seed, epochs, dropLast, workers: ranks, worker: cluster.rank, torch: name === 'torch' };
  const sampler = samplerOf(keys.length, definedOf({ ...training, batchSize }));
  const ids = Int32Array.from(keys, (key) => namespace.find(key));
  const planned = await planOfRanks({
    hierarchy,
    ids,
    ranks,
    epochs: { from: 0, to: epochs },
    readsOf: (rank, epoch) => [Int32Array.from(sampler.epoch(rank, epoch), (sample) => ids[sample] ?? 0)],
    cluster,
    clock,
    signal,
  });
  return followPlan(hierarchy, planned, { policy, signal });
}
