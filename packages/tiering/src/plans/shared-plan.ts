import { NO_HOME } from './cluster-plan.js';
import { UNPLANNED, type PlanRoom } from './frequency-plan.js';
import type { SharedReads } from './shared-reads.js';
import { sortedBy } from './sorted-by.js';

/** Options of `sharedPlan`. */
export interface SharedPlanOptions {
  /** The reads of all workers. */
  readonly reads: SharedReads;
  /** The rooms of each worker, by worker number, fastest level first. The plan uses them up. */
  readonly rooms: readonly (readonly PlanRoom[])[];
  /** Bytes of each sample. A worker that had no room for one is not asked for a larger one. */
  readonly sizes: ArrayLike<number>;
}

/** Says which worker keeps which sample, and which further copies some workers keep. */
export interface SharedPlan {
  /** The worker that keeps each sample for all workers, or `NO_HOME`. */
  readonly homes: Uint16Array;
  /** The level of each sample on a worker of `plansFor`, or `UNPLANNED`; undefined for other workers. */
  planOf(worker: number): Uint8Array | undefined;
}

/**
 * Plans the copies of workers that read from each other. First each sample gets one home: the worker with
 * room that will read it most often, or any worker with room if none of its readers has any. So the source
 * serves as few bytes as the room allows, and most reads are local. The remaining room then takes further
 * copies, most often read first, which save transfers between workers.
 *
 * `clusterPlan` follows the rule of HDMLP (section 5.1): each worker keeps what it reads most often,
 * regardless of the others. Some samples then have several copies and others none, although there is room for
 * all: with four workers, room for a quarter each and three epochs, a third stays in the source.
 *
 * All workers find the same homes if they number samples alike, and have the same rooms. Further copies on a
 * worker do not concern other workers, so they are planned only for the workers of `plansFor`. O(reads) time.
 * Keeps two bytes per sample, and one for each worker of `plansFor`; needs 20 more bytes per sample while it
 * runs.
 */
export function sharedPlan({ reads, rooms, sizes }: SharedPlanOptions): SharedPlan {
  const { samples } = reads;
  const homes = new Uint16Array(samples).fill(NO_HOME);
  const plans = new Map(reads.plansFor.map((worker) => [worker, new Uint8Array(samples).fill(UNPLANNED)]));
  const asked = new AskedRooms(rooms, sizes);
  const keep = (sample: number, worker: number): boolean => {
    const level = asked.take(sample, worker);
    if (level === undefined) return false;
    homes[sample] = worker;
    const plan = plans.get(worker);
    if (plan !== undefined) plan[sample] = level;
    return true;
  };
  const order = mostReadFirst(samples, (sample) => reads.mostOf(sample));
  for (const sample of order)
    for (const { worker } of reads.readersOf(sample)) if (keep(sample, worker)) break;
  for (const sample of order) if (homes[sample] === NO_HOME) anywhere(sample, asked, keep);
  for (const [worker, plan] of plans) {
    const frequency = reads.frequencyOf(worker);
    for (const sample of mostReadFirst(samples, (one) => frequency[one] ?? 0))
      if (plan[sample] === UNPLANNED) plan[sample] = asked.take(sample, worker) ?? UNPLANNED;
  }
  return { homes, planOf: (worker) => plans.get(worker) };
}

/** Finds room at any worker for a sample whose readers have none. */
function anywhere(
  sample: number,
  asked: AskedRooms,
  keep: (sample: number, worker: number) => boolean,
): void {
  const { workers } = asked;
  if (!asked.mayHaveRoom(sample)) return;
  for (let i = 0; i < workers; i++) if (keep(sample, (sample + i) % workers)) return;
  asked.nobodyHadRoom(sample);
}

/** The samples that are read at all, most often read first, then by number. */
function mostReadFirst(samples: number, countOf: (sample: number) => number): Uint32Array {
  const counts = Uint32Array.from({ length: samples }, (_, sample) => countOf(sample));
  const items = Uint32Array.from(counts.keys()).filter((sample) => counts[sample] !== 0);
  return sortedBy(
    items,
    Uint32Array.from(items, (sample) => ~(counts[sample] ?? 0)),
  );
}

/** The rooms of all workers. A worker that had no room for a sample is not asked for a larger one. */
class AskedRooms {
  readonly #rooms: readonly (readonly PlanRoom[])[];
  readonly #sizes: ArrayLike<number>;
  /** The smallest size that each worker had no room for. */
  readonly #refused: Float64Array;
  /** The smallest size that no worker had room for. */
  #refusedByAll = Infinity;

  constructor(rooms: readonly (readonly PlanRoom[])[], sizes: ArrayLike<number>) {
    this.#rooms = rooms;
    this.#sizes = sizes;
    this.#refused = new Float64Array(rooms.length).fill(Infinity);
  }

  get workers(): number {
    return this.#rooms.length;
  }

  /** Takes room on a worker. Returns the level; undefined if no level has room. */
  take(sample: number, worker: number): number | undefined {
    const size = this.#sizes[sample] ?? 0;
    if (size >= (this.#refused[worker] ?? 0)) return undefined;
    const level = this.#rooms[worker]?.findIndex((room) => room.take(sample)) ?? -1;
    if (level !== -1) return level;
    this.#refused[worker] = size;
    return undefined;
  }

  mayHaveRoom(sample: number): boolean {
    return (this.#sizes[sample] ?? 0) < this.#refusedByAll;
  }

  nobodyHadRoom(sample: number): void {
    this.#refusedByAll = Math.min(this.#refusedByAll, this.#sizes[sample] ?? 0);
  }
}
