import type { Clock, Hierarchy } from '@tiered/core';
import { loadChecksum } from '@tiered/core/internal';
import { roomsOf, sharedPlan, UNPLANNED, type ClusterPlan, type SharingWorker } from '@tiered/tiering/plans';
import type { Parts } from './order/parts.js';
import { readsOf } from './reading/reads-of-job.js';
import type { Job } from './reading/planner.js';

/** Milliseconds to wait for the other ranks before the training begins without them. */
const OTHERS_MS = 30_000;

/** The other ranks, as a `Cluster` of `@tiered/cluster` is. */
export interface PlanUser {
  /** The number of this worker, which has to be the rank of the loader. */
  readonly rank: number;
  /** Takes a plan of all ranks, and tells them of it. */
  usePlan(plan: {
    readonly plan: Pick<ClusterPlan, 'holders'>;
    readonly sampleOf: (key: string) => number | undefined;
    readonly id: string;
  }): void;
  /** Waits until all ranks have that plan. Resolves to whether they have. */
  gathered(options: { readonly timeoutMs: number; readonly signal: AbortSignal }): Promise<boolean>;
}

/** What this rank keeps, by the numbers of objects in the namespace. */
export interface RankPlan {
  /** The level of each object, or `UNPLANNED`. */
  readonly plan: Uint8Array;
  /** When each is first read, by any rank, counted in reads of that rank. */
  readonly first: Uint32Array;
  /**
   * Tells the other ranks, once this one follows the plan, and waits for them for a while: what is read
   * before they are there comes from the source.
   */
  readonly announce?: (() => Promise<void>) | undefined;
}

/** What the plan of all ranks is made from. */
export interface PlanOfRanksParts {
  readonly hierarchy: Hierarchy;
  readonly parts: Parts;
  readonly job: Job;
  readonly cluster: PlanUser;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Plans what all ranks keep, by `sharedPlan`. All ranks must have tiers with the same room.
 *
 * Objects are numbered as the sample sets list them, which is the same on all ranks, as the seed needs it.
 * Draws every epoch once for each rank.
 */
export async function planOfRanks(all: PlanOfRanksParts): Promise<RankPlan> {
  const { hierarchy, parts, job, cluster, clock, signal } = all;
  const { namespace } = hierarchy;
  const ids = idsOf(parts, hierarchy);
  const workers: SharingWorker[] = [];
  const first = new Uint32Array(namespace.count).fill(NEVER);
  for (let rank = 0; rank < job.ranks; rank++) {
    const reads = await readsOf(parts, { ...job, rank }, clock, signal);
    const frequency = Uint32Array.from(ids, (id) => reads.frequency[id] ?? 0);
    const rooms = await roomsOf(hierarchy.tiers, namespace);
    workers.push({
      worker: rank,
      frequency,
      rooms: rooms.map((room) => ({ take: (sample) => room.take(ids[sample] ?? 0) })),
    });
    for (const id of ids)
      if (reads.frequency[id] !== 0) first[id] = Math.min(first[id] ?? 0, reads.first[id] ?? 0);
  }
  const shared = sharedPlan(workers, ids.length);
  const numberOf = new Map(Array.from(ids, (id, number) => [id, number]));
  const plan = new Uint8Array(namespace.count).fill(UNPLANNED);
  for (const [number, id] of ids.entries()) plan[id] = shared.levelOn(job.rank, number);
  const id = await digestOf(shared, workers);
  const sampleOf = (key: string) => numberOf.get(namespace.find(key));
  const announce = async () => {
    cluster.usePlan({ plan: shared, sampleOf, id });
    await cluster.gathered({ timeoutMs: OTHERS_MS, signal });
  };
  return { plan, first, announce };
}

const NEVER = 2 ** 32 - 1;

/** The numbers in the namespace of all objects of a training, each once, in the order of the sample sets. */
function idsOf({ list }: Parts, { namespace }: Hierarchy): Int32Array {
  const ids = new Set<number>();
  for (const { samples } of list) for (const key of samples.keys) ids.add(namespace.find(key));
  return Int32Array.from(ids);
}

/** The same on all ranks whose plans are the same. */
async function digestOf(plan: ClusterPlan, workers: readonly SharingWorker[]): Promise<string> {
  const checksum = await loadChecksum();
  const digest = (table: Uint8Array) => checksum.bytes(table);
  const digests = workers.map(({ worker }) => digest(plan.planOf(worker) ?? new Uint8Array()));
  return digest(new Uint8Array(BigUint64Array.from(digests).buffer)).toString(16);
}
