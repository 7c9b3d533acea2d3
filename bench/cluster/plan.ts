import type { Sampler } from '@tiered/prefetch/sampling';
import { roomOf, sharedPlan, SharedReads, UNPLANNED, type SharedPlan } from '@tiered/tiering/plans';

/** The plan of all nodes, each with RAM for so many bytes of objects that are alike. */
export function planOfNodes(
  sampler: Sampler,
  quota: number,
  bytes: number,
  plansFor: readonly number[],
): SharedPlan {
  const { samples, workers, epochs } = sampler;
  const reads = new SharedReads({ samples, workers, plansFor });
  for (let epoch = 0; epoch < epochs; epoch++)
    for (let worker = 0; worker < workers; worker++) reads.add(worker, sampler.epoch(worker, epoch));
  const sizes = new Float64Array(samples).fill(bytes);
  const rooms = Array.from({ length: workers }, () => [roomOf(quota, sizes)]);
  return sharedPlan({ reads, rooms, sizes });
}

/** What one node needs of it. */
export function planOf(
  sampler: Sampler,
  rank: number,
  quota: number,
  bytes: number,
): { readonly homes: Uint16Array; readonly plan: Uint8Array } {
  const shared = planOfNodes(sampler, quota, bytes, [rank]);
  const plan = shared.planOf(rank) ?? new Uint8Array(sampler.samples).fill(UNPLANNED);
  return { homes: shared.homes, plan };
}
