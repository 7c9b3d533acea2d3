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

/** Options of a loader that makes its hierarchy keep the objects this rank will read most often. */
export interface ClairvoyantOptions {
  /** The policy of the hierarchy's `PlacementHandler`, made by `planFollower`. */
  readonly policy: PlanFollower;
  /**
   * Milliseconds that a copy of an object of this many bytes saves each time a part of it is read. Default:
   * the hierarchy's model, else 5 ms and 100 MB/s (`savedMsBy` of `@tiered/tiering/plans`), the same as for
   * `tiered warmup`. Past reads of this process do not count.
   */
  readonly savedMs?: ((bytes: number) => number) | undefined;
  /**
   * The cluster of the ranks, whose source the hierarchy reads. All ranks then have one plan: each object
   * gets one place somewhere before any object gets a second (`sharedPlan`). That plan counts only reads, so
   * `savedMs` cannot be given. All ranks must have tiers of the same capacity. Default: this rank keeps the
   * objects it reads most often itself.
   */
  readonly cluster?: PlanUser | undefined;
  /**
   * Other readers of the same samples through the same tiers, for tiers that outlive the process. The plan of
   * those tiers then counts the reads of all. Only for one sample set, or a run of its samples, without
   * weights; with several ranks, only for a full shuffle. Not in a cluster. Default: the plan counts the
   * reads of this rank.
   */
  readonly together?: Together | undefined;
}

/** Other readers of the same samples through the same tiers. */
export interface Together {
  /** Knows the others' reads, and tells them this rank's reads: a `Control` of `@tiered/control`. */
  readonly readers: Readers;
  /**
   * Deletes a copy, to make room for one that all readers together read more often: `evict` of the
   * hierarchy's `PlacementHandler`. Default: existing copies stay.
   */
  readonly evict?: Evict | undefined;
}

/** The progress of clairvoyance. */
export interface Clairvoyance {
  /** Objects by level, and objects that stay in the source; undefined until the first is placed. */
  readonly filled: FillCounts | undefined;
  /**
   * The error that ended the filling early, if any. Objects that were not filled are read from the source.
   */
  readonly error: unknown;
}

/**
 * After a plan, no other is made for this many times as long as it took, even if readers join or leave. So
 * plans take at most a tenth of the time.
 */
const REST = 9;

/** Inputs of plans. */
export interface ClairvoyantParts extends ClairvoyantOptions {
  readonly parts: Parts;
  readonly job: Job;
  /** Returns the rank's current epoch. */
  readonly epoch: () => number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/**
 * Derives this rank's reads until the end of the training from the seed (HDMLP, section 3). Makes the tiers
 * keep the most valuable objects, and fills them during the training, in the order of the first reads
 * (section 5.1).
 *
 * The accesses of an object are those of its samples: a shard that is read for a thousand samples counts a
 * thousand times, for all its bytes. Draws every epoch once, which takes O(samples) each; the event loop
 * turns between epochs.
 *
 * With other readers on the same tiers, the plan is remade when one of them joins or leaves, but not when one
 * enters another epoch. Exchanging two copies costs a read, so it gains nothing if one copy has only one more
 * read.
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
  /** Aborts the filling of a plan that is replaced. */
  #replaced = new AbortController();
  /** Whether another plan is due but has not begun. */
  #isDue = false;
  #restMs = 0;
  #filled: FillCounts | undefined;
  #error: unknown;

  /**
   * @throws TieredError `TIERED_CONFIG_INVALID` for parts of several hierarchies, another rank, and options
   * that the plan of a cluster does not use.
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

  /**
   * Holds accesses back until there is a plan. Objects read before that would be fetched again when placed.
   */
  async *whenPlanned<T>(accesses: Iterable<T>): AsyncGenerator<T, void, undefined> {
    await this.#planned;
    yield* accesses;
  }

  /** Resolves when no filling runs. The signal ends the filling. */
  async end(): Promise<void> {
    this.#company?.leave();
    await this.#planning;
    await this.#filling;
  }

  /** Makes another plan after others have joined or left. The previous plan holds meanwhile. */
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

  /** The rest of the job: a later plan starts at the beginning of the rank's current epoch. */
  #left(): Job {
    const { job, epoch } = this.#parts;
    return epoch() > job.start.epoch ? { ...job, start: { epoch: epoch(), done: 0 } } : job;
  }
}

/**
 * The namespace numbers of all objects of a training, each once, in the order the sample sets list them. The
 * order is the same on all ranks, as the seed requires.
 */
function idsOf({ list }: Parts, { namespace }: Hierarchy): Int32Array {
  const ids = new Set<number>();
  for (const { samples } of list) for (const key of samples.keys) ids.add(namespace.find(key));
  return Int32Array.from(ids);
}
