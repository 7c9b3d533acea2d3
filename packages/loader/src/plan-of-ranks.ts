import type { Clock, Hierarchy } from '@tiered/core';
import { loadChecksum } from '@tiered/core/internal';
import { roomsOf, sharedPlan, SharedReads, UNPLANNED, type PlanRoom } from '@tiered/tiering/plans';
import type { Parts } from './order/parts.js';
import { ObjectsRead } from './reading/reads-of-job.js';
import type { Job } from './reading/planner.js';

/** Milliseconds to wait for the other ranks before the training begins without them. */
const OTHERS_MS = 30_000;

/** The other ranks, as a `Cluster` of `@tiered/cluster` is. */
export interface PlanUser {
  /** The number of this worker, which has to be the rank of the loader. */
  readonly rank: number;
  /** Takes a plan of all ranks, and tells them of it. */
  usePlan(plan: {
    readonly homes: Uint16Array;
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
 * Draws every epoch once, for all ranks.
 */
export async function planOfRanks(all: PlanOfRanksParts): Promise<RankPlan> {
  const { hierarchy, parts, job, cluster } = all;
  const { namespace } = hierarchy;
  const ids = idsOf(parts, hierarchy);
  const numbers = new Int32Array(namespace.count).fill(-1);
  for (const [number, id] of ids.entries()) numbers[id] = number;
  const { reads, first } = await readsOfRanks(all, numbers, ids.length);
  const rooms: PlanRoom[][] = [];
  for (let rank = 0; rank < job.ranks; rank++) {
    const ofRank = await roomsOf(hierarchy.tiers, namespace);
    rooms.push(ofRank.map((room) => ({ take: (number) => room.take(ids[number] ?? 0) })));
  }
  const sizes = Float64Array.from(ids, (id) => namespace.sizeOf(id));
  const shared = sharedPlan({ reads, rooms, sizes });
  const { homes } = shared;
  const own = shared.planOf(job.rank);
  const plan = new Uint8Array(namespace.count).fill(UNPLANNED);
  for (const [number, id] of ids.entries()) plan[id] = own?.[number] ?? UNPLANNED;
  const id = await digestOf(homes);
  const sampleOf = (key: string) => numbers[namespace.find(key)];
  const announce = async () => {
    cluster.usePlan({ homes, sampleOf, id });
    await cluster.gathered({ timeoutMs: OTHERS_MS, signal: all.signal });
  };
  return { plan, first, announce };
}

/** What all ranks read, and when each object is first read by any of them. */
async function readsOfRanks(
  { parts, job, hierarchy, clock, signal }: PlanOfRanksParts,
  numbers: Int32Array,
  samples: number,
): Promise<{ readonly reads: SharedReads; readonly first: Uint32Array }> {
  const objects = new ObjectsRead(parts);
  const reads = new SharedReads({ samples, workers: job.ranks, plansFor: [job.rank] });
  const first = new Uint32Array(hierarchy.namespace.count).fill(NEVER);
  const accesses = new Float64Array(job.ranks);
  for (let epoch = job.start.epoch; epoch < job.epochs; epoch++)
    for (let rank = 0; rank < job.ranks; rank++) {
      await clock.turn();
      signal.throwIfAborted();
      let access = accesses[rank] ?? 0;
      for (const ids of objects.of({ ...job, rank }, epoch)) {
        reads.add(
          rank,
          ids.map((id) => numbers[id] ?? 0),
        );
        for (const id of ids) first[id] = Math.min(first[id] ?? NEVER, access++);
      }
      accesses[rank] = access;
    }
  return { reads, first };
}

const NEVER = 2 ** 32 - 1;

/** The numbers in the namespace of all objects of a training, each once, in the order of the sample sets. */
function idsOf({ list }: Parts, { namespace }: Hierarchy): Int32Array {
  const ids = new Set<number>();
  for (const { samples } of list) for (const key of samples.keys) ids.add(namespace.find(key));
  return Int32Array.from(ids);
}

/** The same on all ranks whose plans are the same. */
async function digestOf(homes: Uint16Array): Promise<string> {
  const checksum = await loadChecksum();
  return checksum.bytes(new Uint8Array(homes.buffer)).toString(16);
}
