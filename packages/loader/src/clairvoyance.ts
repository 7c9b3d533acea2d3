import type { Clock, Hierarchy } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import type { FillCounts, PlanFollower } from '@tiered/tiering';
import { frequencyPlan, roomsOf, savedMsBy } from '@tiered/tiering/plans';
import type { Parts } from './order/parts.js';
import { followPlan, planOfRanks, type PlanUser, type RankPlan } from './plan-of-ranks.js';
import { hierarchyOf, ObjectsRead, readsOf } from './reading/reads-of-job.js';
import type { Job } from './reading/planner.js';

/** How a loader has its hierarchy keep what this rank will read most often. */
export interface ClairvoyantOptions {
  /** The policy of the hierarchy's `PlacementHandler`, made by `planFollower`. */
  readonly policy: PlanFollower;
  /**
   * Milliseconds that a copy of an object of this many bytes saves each time a part of it is read. Default:
   * what the model of the hierarchy says, else 5 ms and 100 MB/s (`savedMsBy` of `@tiered/tiering/plans`),
   * which `tiered warmup` goes by as well. What this process has read so far does not count.
   */
  readonly savedMs?: ((bytes: number) => number) | undefined;
  /**
   * The cluster of the ranks, whose source the hierarchy reads. Then all of them have one plan: each object
   * has a place somewhere before it has two (`sharedPlan`). That plan counts reads alone, so `savedMs` cannot
   * be given. All ranks must have tiers with the same room. Default: this rank keeps what it reads most often
   * itself.
   */
  readonly cluster?: PlanUser | undefined;
}

/** What clairvoyance did so far. */
export interface Clairvoyance {
  /** Objects by level, and those that stay in the source; undefined until the first was placed. */
  readonly filled: FillCounts | undefined;
  /** Why the filling ended early, if it did. What was not filled is read from the source. */
  readonly error: unknown;
}

/** What plans are made from. */
export interface ClairvoyantParts extends ClairvoyantOptions {
  readonly parts: Parts;
  readonly job: Job;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/**
 * Knows from the seed what this rank reads until the end of the training (HDMLP, section 3), has the tiers
 * keep what is worth most, and fills them in the order of the first reads (section 5.1), beside the training.
 *
 * The accesses of objects are those of their samples: a shard that is read for a thousand samples counts a
 * thousand times, for all its bytes. Draws every epoch once, which takes O(samples) each; the event loop
 * turns between epochs.
 */
export class Clairvoyant {
  readonly #parts: ClairvoyantParts;
  readonly #hierarchy: Hierarchy;
  /** Settles when the plan is followed. */
  readonly #planned: Promise<void>;
  #filling: Promise<void> = Promise.resolve();
  #filled: FillCounts | undefined;
  #error: unknown;

  /**
   * @throws TieredError `TIERED_CONFIG_INVALID` for parts of several hierarchies, another rank, and what the
   * plan of a cluster does not go by.
   */
  constructor(parts: ClairvoyantParts) {
    this.#parts = parts;
    this.#hierarchy = hierarchyOf(parts.parts);
    const { cluster, job, savedMs } = parts;
    if (cluster !== undefined && cluster.rank !== job.rank)
      throw configError('clairvoyant.cluster', `a worker of rank ${job.rank}, as the loader`, cluster.rank);
    if (cluster !== undefined && savedMs !== undefined)
      throw configError('clairvoyant.savedMs', 'nothing in a cluster, whose plan counts reads', savedMs);
    this.#planned = this.#plan();
    this.#planned.catch(() => undefined);
  }

  get state(): Clairvoyance {
    return { filled: this.#filled, error: this.#error };
  }

  /** What is read before there is a plan would be fetched again when it is placed. */
  async *whenPlanned<T>(accesses: Iterable<T>): AsyncGenerator<T, void, undefined> {
    await this.#planned;
    yield* accesses;
  }

  /** Resolves when nothing is being filled. Its signal ends it. */
  async end(): Promise<void> {
    await this.#planned.catch(() => undefined);
    await this.#filling;
  }

  async #plan(): Promise<void> {
    const { policy, signal } = this.#parts;
    const onProgress = (filled: FillCounts) => (this.#filled = filled);
    const { filling } = await followPlan(this.#hierarchy, await this.#rankPlan(), {
      policy,
      signal,
      onProgress,
    });
    this.#filling = filling.then(
      (filled) => void (this.#filled = filled),
      (error: unknown) => {
        if (!signal.aborted) this.#error = error;
      },
    );
  }

  async #rankPlan(): Promise<RankPlan> {
    const { savedMs = savedMsBy(this.#hierarchy.model), parts, job, clock, signal, cluster } = this.#parts;
    const hierarchy = this.#hierarchy;
    if (cluster !== undefined) {
      const objects = new ObjectsRead(parts);
      return planOfRanks({
        hierarchy,
        ids: idsOf(parts, hierarchy),
        ranks: job.ranks,
        epochs: { from: job.start.epoch, to: job.epochs },
        readsOf: (rank, epoch) => objects.of({ ...job, rank }, epoch),
        cluster,
        clock,
        signal,
      });
    }
    const { namespace, tiers } = hierarchy;
    const { frequency, first } = await readsOf(parts, job, clock, signal);
    const sizes = Float64Array.from(frequency, (_, id) => namespace.sizeOf(id));
    const quotas = await roomsOf(tiers, namespace);
    return { plan: frequencyPlan({ frequency, first, sizes, quotas, savedMs }), first };
  }
}

/**
 * The numbers in the namespace of all objects of a training, each once, in the order in which the sample sets
 * list them. That is the same on all ranks, as the seed needs it.
 */
function idsOf({ list }: Parts, { namespace }: Hierarchy): Int32Array {
  const ids = new Set<number>();
  for (const { samples } of list) for (const key of samples.keys) ids.add(namespace.find(key));
  return Int32Array.from(ids);
}
