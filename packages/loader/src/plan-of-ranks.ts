import type { Clock, Hierarchy } from '@tiered/core';
import { loadChecksum } from '@tiered/core/internal';
import { placeInOrder, type FillCounts, type PlanFollower } from '@tiered/tiering';
import { exchange, type ExchangeOptions } from './exchange.js';
import { fillOrder, roomsOf, sharedPlan, SharedReads, UNPLANNED, type PlanRoom } from '@tiered/tiering/plans';

/** Milliseconds to wait for the other ranks before training begins without them. */
const OTHERS_MS = 30_000;

/** The first read of an object that no rank reads. */
const NEVER = 2 ** 32 - 1;

/** The connection to the other ranks, such as a `Cluster` of `@tiered/cluster`. */
export interface PlanUser {
  /** The rank of this worker, which has to equal the rank of the loader. */
  readonly rank: number;
  /** Switches to a plan of all ranks, and tells the other ranks. */
  usePlan(plan: {
    readonly homes: Uint16Array;
    readonly sampleOf: (key: string) => number | undefined;
    readonly id: string;
  }): void;
  /** Waits until all ranks follow that plan. Resolves to whether they do. */
  gathered(options: { readonly timeoutMs: number; readonly signal: AbortSignal }): Promise<boolean>;
}

/** The objects this rank keeps, by their numbers in the namespace. */
export interface RankPlan {
  /** The level of each object, or `UNPLANNED`. */
  readonly plan: Uint8Array;
  /** The first read of each object by any rank, counted in reads of that rank. */
  readonly first: Uint32Array;
  /**
   * Called once this rank follows the plan: tells the other ranks, and waits for them for a while. Reads
   * before they are ready go to the source.
   */
  readonly announce?: (() => Promise<void>) | undefined;
  /**
   * Returns the copies on a level that the plan has no place for, the least valuable first. They are evicted
   * if planned objects find no room. Default: copies stay where they are.
   */
  readonly leaving?: ((level: number) => readonly number[]) | undefined;
}

/** Inputs of the plan of all ranks. */
export interface PlanOfRanksParts {
  readonly hierarchy: Hierarchy;
  /** The namespace numbers of all objects of the training, in an order that is the same on all ranks. */
  readonly ids: Int32Array;
  /** The number of ranks. */
  readonly ranks: number;
  /** The first epoch of the plan, and the epoch after the last. */
  readonly epochs: { readonly from: number; readonly to: number };
  /** The reads of a rank in an epoch, in order and in pieces: objects, by their numbers in the namespace. */
  readonly readsOf: (rank: number, epoch: number) => Iterable<Int32Array>;
  readonly cluster: PlanUser;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Plans the objects that each rank keeps, by `sharedPlan`. All ranks must have tiers of the same capacity.
 * Draws every epoch once for each rank, and lets the event loop turn in between. Abort rejects with
 * `signal.reason`.
 */
export async function planOfRanks(all: PlanOfRanksParts): Promise<RankPlan> {
  const { hierarchy, ids, ranks, cluster, signal } = all;
  const { namespace } = hierarchy;
  const numbers = new Int32Array(namespace.count).fill(-1);
  for (const [number, id] of ids.entries()) numbers[id] = number;
  const { reads, first } = await readsOfRanks(all, numbers);
  const rooms: PlanRoom[][] = [];
  for (let rank = 0; rank < ranks; rank++) {
    const ofRank = await roomsOf(hierarchy.tiers, namespace);
    rooms.push(ofRank.map((room) => ({ take: (number) => room.take(ids[number] ?? 0) })));
  }
  const sizes = Float64Array.from(ids, (id) => namespace.sizeOf(id));
  const shared = sharedPlan({ reads, rooms, sizes });
  const { homes } = shared;
  const own = shared.planOf(cluster.rank);
  const plan = new Uint8Array(namespace.count).fill(UNPLANNED);
  for (const [number, id] of ids.entries()) plan[id] = own?.[number] ?? UNPLANNED;
  const id = await digestOf(homes);
  const sampleOf = (key: string) => numbers[namespace.find(key)];
  const announce = async () => {
    cluster.usePlan({ homes, sampleOf, id });
    await cluster.gathered({ timeoutMs: OTHERS_MS, signal });
  };
  return { plan, first, announce };
}

/** The reads of all ranks, and the first read of each object by any of them. */
async function readsOfRanks(
  { hierarchy, ids, ranks, epochs, readsOf, cluster, clock, signal }: PlanOfRanksParts,
  numbers: Int32Array,
): Promise<{ readonly reads: SharedReads; readonly first: Uint32Array }> {
  const reads = new SharedReads({ samples: ids.length, workers: ranks, plansFor: [cluster.rank] });
  const first = new Uint32Array(hierarchy.namespace.count).fill(NEVER);
  const accesses = new Float64Array(ranks);
  const count = (rank: number, read: Int32Array) => {
    let access = accesses[rank] ?? 0;
    reads.add(
      rank,
      read.map((id) => numbers[id] ?? 0),
    );
    for (const id of read) first[id] = Math.min(first[id] ?? NEVER, access++);
    accesses[rank] = access;
  };
  for (let epoch = epochs.from; epoch < epochs.to; epoch++)
    for (let rank = 0; rank < ranks; rank++) {
      await clock.turn();
      signal.throwIfAborted();
      for (const read of readsOf(rank, epoch)) count(rank, read);
    }
  return { reads, first };
}

/** Options of `followPlan`. */
export interface FollowOptions {
  readonly policy: PlanFollower;
  /** Aborts the wait for other ranks, and the filling. */
  readonly signal: AbortSignal;
  /** Evicts copies that the plan has no place for. Default: they stay where they are. */
  readonly exchanging?: Pick<ExchangeOptions, 'evict' | 'clock'> | undefined;
  /** Called with the progress of the filling. Default: none. */
  readonly onProgress?: ((filled: FillCounts) => void) | undefined;
}

/**
 * Makes a hierarchy follow a plan, once the other ranks know of it, and begins to fill the tiers in the order
 * of the first reads (HDMLP, section 5.1).
 * @returns A promise of the filling, which rejects with `signal.reason` after an abort.
 */
export async function followPlan(
  hierarchy: Hierarchy,
  ranked: RankPlan,
  options: FollowOptions,
): Promise<{ readonly filling: Promise<FillCounts> }> {
  const { namespace } = hierarchy;
  options.policy.follow({ plan: ranked.plan, sampleOf: (key) => namespace.find(key) });
  await ranked.announce?.();
  return { filling: filled(hierarchy, ranked, options) };
}

async function filled(hierarchy: Hierarchy, ranked: RankPlan, options: FollowOptions): Promise<FillCounts> {
  const { namespace } = hierarchy;
  const { signal, onProgress, exchanging } = options;
  const { plan, first, leaving } = ranked;
  const order = fillOrder({ plan, first });
  const keys = function* () {
    for (const id of order) yield namespace.keyOf(id);
  };
  const counts = await placeInOrder(hierarchy, keys(), { signal, onProgress });
  if (exchanging === undefined || leaving === undefined) return counts;
  for (const { level } of hierarchy.tiers) {
    const missing = fillOrder({ plan, first, level }).filter(
      (id) => namespace.levelOf(id) >= hierarchy.tiers.length,
    );
    await exchange(hierarchy, { missing, leaves: leaving(level) }, { ...exchanging, signal });
  }
  return counts;
}

/** A digest that is the same on all ranks with the same plan. */
async function digestOf(homes: Uint16Array): Promise<string> {
  const checksum = await loadChecksum();
  return checksum.bytes(new Uint8Array(homes.buffer)).toString(16);
}
