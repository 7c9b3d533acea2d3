import type { Clock, Hierarchy } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import type { FillCounts, PlanFollower } from '@tiered/tiering';
import { frequencyPlan, roomsOf, savedMsBy } from '@tiered/tiering/plans';
import type { Parts } from './order/parts.js';
import { companyOf, type Company, type Readers } from './company.js';
import type { Evict } from './exchange.js';
import { followPlan, planOfRanks, type PlanUser, type RankPlan } from './plan-of-ranks.js';
import { planTogether } from './plan-together.js';
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
  /**
   * Others that read the same samples through the same tiers, where these outlive the process: then the plan
   * of those tiers counts the reads of all. Only for one sample set, or a run of its samples, without
   * weights; of several ranks, shuffled as a whole. Not in a cluster. Default: the plan counts the reads of
   * this rank.
   */
  readonly together?: Together | undefined;
}

/** Others that read the same samples through the same tiers. */
export interface Together {
  /** Knows what they read, and tells them what this rank does: a `Control` of `@tiered/control`. */
  readonly readers: Readers;
  /**
   * Deletes a copy, to make room for one that all of them read more often: `evict` of the hierarchy's
   * `PlacementHandler`. Default: copies that are there stay.
   */
  readonly evict?: Evict | undefined;
}

/** What clairvoyance did so far. */
export interface Clairvoyance {
  /** Objects by level, and those that stay in the source; undefined until the first was placed. */
  readonly filled: FillCounts | undefined;
  /** Why the filling ended early, if it did. What was not filled is read from the source. */
  readonly error: unknown;
}

/**
 * After a plan there is none for so many times as long as it took, whoever comes and goes: plans take a tenth
 * of the time at most.
 */
const REST = 9;

/** What plans are made from. */
export interface ClairvoyantParts extends ClairvoyantOptions {
  readonly parts: Parts;
  readonly job: Job;
  /** The epoch that the rank is in. */
  readonly epoch: () => number;
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
 *
 * With others on the same tiers, the plan is made anew when one of them comes or goes, and not when one is in
 * another epoch: to exchange two copies costs a read, so nothing is won where one is read once more.
 */
export class Clairvoyant {
  readonly #parts: ClairvoyantParts;
  readonly #hierarchy: Hierarchy;
  readonly #company: Company | undefined;
  /** Settles when the first plan is followed. */
  readonly #planned: Promise<void>;
  /** Settles when no plan is being made. */
  #planning: Promise<void>;
  #filling: Promise<void> = Promise.resolve();
  /** Ends the filling by a plan that is replaced. */
  #replaced = new AbortController();
  /** Whether a plan is to be made that has not begun. */
  #isDue = false;
  #restMs = 0;
  #filled: FillCounts | undefined;
  #error: unknown;

  /**
   * @throws TieredError `TIERED_CONFIG_INVALID` for parts of several hierarchies, another rank, and what the
   * plan of a cluster does not go by.
   */
  constructor(parts: ClairvoyantParts) {
    this.#parts = parts;
    this.#hierarchy = hierarchyOf(parts.parts);
    const { cluster, job, savedMs, together } = parts;
    if (cluster !== undefined && cluster.rank !== job.rank)
      throw configError('clairvoyant.cluster', `a worker of rank ${job.rank}, as the loader`, cluster.rank);
    if (cluster !== undefined && savedMs !== undefined)
      throw configError('clairvoyant.savedMs', 'nothing in a cluster, whose plan counts reads', savedMs);
    const readers = cluster === undefined ? together?.readers : undefined;
    this.#company = readers && companyOf(readers, { ...parts, onOthers: () => this.#planAnew() });
    this.#planned = this.#plan();
    this.#planned.catch(() => undefined);
    this.#planning = this.#planned.catch(() => undefined);
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
    this.#company?.leave();
    await this.#planning;
    await this.#filling;
  }

  /** Others have come or gone. What is read meanwhile goes by the plan before. */
  #planAnew(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#planning = this.#planning.then(async () => {
      const { clock, signal } = this.#parts;
      await clock.sleep(this.#restMs, signal, { background: true }).catch(() => undefined);
      this.#isDue = false;
      if (signal.aborted || this.#company?.isPlanned !== false) return;
      this.#replaced.abort(new Error('There is another plan.'));
      await this.#filling;
      const begun = clock.now();
      await this.#plan().catch((error: unknown) => this.#failed(error));
      this.#restMs = REST * (clock.now() - begun);
    });
  }

  async #plan(): Promise<void> {
    const { policy, together, clock } = this.#parts;
    this.#replaced = new AbortController();
    const signal = AbortSignal.any([this.#parts.signal, this.#replaced.signal]);
    const onProgress = (filled: FillCounts) => (this.#filled = filled);
    const { filling } = await followPlan(this.#hierarchy, await this.#rankPlan(), {
      policy,
      signal,
      exchanging: together?.evict && { evict: together.evict, clock },
      onProgress,
    });
    this.#filling = filling.then(
      (filled) => void (this.#filled = filled),
      (error: unknown) => {
        if (!signal.aborted) this.#failed(error);
      },
    );
  }

  #failed(error: unknown): void {
    if (!this.#parts.signal.aborted) this.#error = error;
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
    const sequences = this.#company?.sequences();
    const own = await readsOf(parts, this.#left(), clock, signal);
    const [part] = parts.list;
    if (sequences !== undefined && part !== undefined)
      return planTogether({ samples: part.samples, sequences, own, savedMs, clock, signal });
    const { frequency, first } = own;
    const sizes = Float64Array.from(frequency, (_, id) => namespace.sizeOf(id));
    const quotas = await roomsOf(tiers, namespace);
    return { plan: frequencyPlan({ frequency, first, sizes, quotas, savedMs }), first };
  }

  /** What is left of the job: a later plan goes from the beginning of the epoch that the rank is in. */
  #left(): Job {
    const { job, epoch } = this.#parts;
    return epoch() > job.start.epoch ? { ...job, start: { epoch: epoch(), done: 0 } } : job;
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
