import { randomUUID } from 'node:crypto';
import type { Hierarchy } from '@tiered/core';
import { addressOf, configError, SafeEmitter } from '@tiered/core/internal';
import type { StorageDriver } from '@tiered/core/driver';
import type { StagingBuffer } from '@tiered/prefetch';
import type { DescribedSequence } from '@tiered/prefetch/sampling';
import {
  assertName,
  boundRecord,
  checkedOptions,
  type CheckedOptions,
  type ControlOptions,
  type RateOptions,
} from './options.js';
import { Board, type Seen } from './records/board.js';
import { MOST_AMOUNT, type Stage, type StageRecord } from './records/stage-record.js';
import { decide, guaranteedOf, isSaturated, shareOf, type Decision } from './shares/decide.js';
import { combined, NO_BOUND, type Rate } from './shares/rate.js';
import { roomOf } from './shares/tier-shares.js';
import { FollowedTiers, type TierShare } from './stage/followed-tiers.js';
import { Followed } from './stage/followed.js';
import { Sequences, type StageSequence } from './stage/sequences.js';
import { StageSource } from './stage/stage-source.js';

/** Milliseconds between two records of a stage. A put costs a registry about a millisecond. */
const EVERY_MS = 500;
/** The most sources of a stage: a record has all of them, and registries keep small records. */
const MOST_SOURCES = 8;

/** Events of a `Control`. */
export interface ControlEvents {
  /** The records of all stages were read, and the shares decided. Emitted about twice a second. */
  decided: (event: { readonly seen: Seen; readonly decision: Decision }) => void;
  /** Stages of this node read other data than before, or have reached another epoch; see `sequencesOf`. */
  sequencesChanged: () => void;
  /**
   * The registry cannot be reached. The stage keeps its share, and later falls back to the share it can count
   * on.
   */
  registryLost: (event: { readonly error: unknown }) => void;
  /** The registry can be reached again. */
  registryFound: () => void;
}

/** Options of `Control.source`. */
export interface ControlSourceOptions {
  /**
   * The name of the source. Stages with the same name share it, so name the file system or the endpoint that
   * jobs have in common, not the dataset. Default: the location the driver reads from, such as
   * `file:///data/`.
   */
  readonly name?: string | undefined;
  /**
   * The capacity of the source. Operators can set another budget for all stages. If stages give different
   * budgets, the lowest one counts. Default: it is measured, once several jobs use the source.
   */
  readonly budget?: RateOptions | undefined;
}

/** The shares of a stage. */
export interface StageShares {
  readonly job: string;
  /** Identifies the stage within the job. */
  readonly id: string;
  /** The permitted rate, by the name of the source. */
  readonly sources: Readonly<Record<string, Rate>>;
  /**
   * By the place of the tier, for tiers that several jobs of the node fill: the bytes the stage holds and may
   * hold.
   */
  readonly tiers: Readonly<Record<string, TierShare>>;
  /** Whether the last attempt to reach the registry succeeded. */
  readonly isConnected: boolean;
}

/**
 * A stage of a job in the control plane: a hierarchy with its prefetchers, which shares sources, memory and
 * producers with those of other jobs (PRISMA, Cluster'21, sections III and VII).
 *
 * Each half second, a stage puts into the registry a record of what it could use and what it uses, and reads
 * the records of the others. From these records every stage computes the shares of all with a pure function
 * (`decide`), and takes its own. So there is no controller that could fail, and no message that settles
 * disagreements. Operators' settings are a record too.
 *
 * **A lost registry** fails no read. The stage keeps its last share for `keepMs`. Then, until the registry is
 * found again, it uses the share it would have if all the stages it knew wanted everything.
 *
 * **Cost.** A request to an unbounded source costs three reads of the clock. A record is a few hundred bytes,
 * twice a second.
 */
export class Control extends SafeEmitter<ControlEvents> implements AsyncDisposable {
  readonly #options: CheckedOptions;
  readonly #id = randomUUID();
  readonly #board: Board;
  readonly #sources = new Map<string, StageSource>();
  readonly #followed = new Followed();
  readonly #tiers = new FollowedTiers();
  readonly #sequences: Sequences;
  #seen: Seen = { stages: [], policy: undefined };
  #decision: Decision = { sources: new Map(), nodes: new Map(), tiers: [] };
  #lostAt: number | undefined;
  #finish: { readonly at: number; readonly remainingBytes: () => number } | undefined;
  #closed: Promise<void> | undefined;

  /**
   * Joins the stages of all jobs in the registry.
   * @throws TieredError `TIERED_CONFIG_INVALID` for invalid options, `TIERED_UNAVAILABLE` if the registry
   * cannot be reached. Abort rejects with `signal.reason`.
   */
  static async join(options: ControlOptions): Promise<Control> {
    const control = new Control(checkedOptions(options));
    try {
      await control.#board.join(control.#options.signal);
      return control;
    } catch (error) {
      await control.close();
      throw error;
    }
  }

  private constructor(options: CheckedOptions) {
    super();
    this.#options = options;
    const { registry, ttlMs, clock, job, node } = options;
    this.#sequences = new Sequences({ job, node, id: this.#id });
    this.#board = new Board({
      registry,
      id: this.#id,
      everyMs: EVERY_MS,
      ttlMs,
      clock,
      report: () => this.#report(),
      onLook: (seen) => this.#looked(seen),
      onLost: (error) => this.#lost(error),
    });
  }

  /**
   * Limits a source to the stage's share of it. Pass the result to the hierarchy in place of the driver. With
   * a cluster, put it below: `cluster.source(control.source(driver))`, since peers are not the source. Until
   * the first look at the other stages, the share is what the stage would have if it wanted everything.
   * @throws TieredError `TIERED_CONFIG_INVALID` for an invalid name or budget, and for more than 8 sources.
   */
  source(
    driver: StorageDriver,
    { name = addressOf(driver), budget }: ControlSourceOptions = {},
  ): StorageDriver {
    const known = this.#sources.get(name);
    if (known !== undefined) return known.around(driver);
    assertName('name', name);
    if (this.#sources.size === MOST_SOURCES)
      throw configError('source', `at most ${MOST_SOURCES} of them`, name);
    const source = new StageSource(name, boundRecord('budget', budget), this.#options.clock);
    this.#sources.set(name, source);
    this.#decide();
    this.#follow(source);
    return source.around(driver);
  }

  /**
   * Makes the stage report what its consumers could use, and keep the buffer within the stage's share of the
   * node. Pass all staging buffers of the job that read from its sources. Without any, a stage whose requests
   * wait asks for everything.
   * @returns A function that stops this and removes the bounds.
   */
  followBuffer(buffer: StagingBuffer): () => void {
    return this.#followed.add(buffer);
  }

  /**
   * Makes the stage report how full the tiers of a hierarchy are, until the hierarchy is closed, and keep to
   * the job's part of tiers that other jobs of the node fill too. Copies above that part are evicted once the
   * other jobs need the room: 64 MiB at a look, or an eighth of a small tier, and at least one copy. Call it
   * before anything is placed: only copies placed from then on count.
   * @returns A function that stops this and removes the bounds.
   */
  followTiers(hierarchy: Hierarchy): () => void {
    return this.#tiers.add(hierarchy);
  }

  /**
   * Makes the stage report the order in which it reads a dataset, so that others can foresee its reads. It is
   * for shared tiers that keep the samples all stages read most often. Of more than 4 sequences at a time,
   * only the first 4 are reported.
   * @param dataset Names the dataset and the tiers that hold it: 1 to 64 letters, digits, `-` and `_`. Stages
   * with the same name have the same samples under the same numbers, on tiers that they share.
   * @param describe Returns where the stage stands. Called twice a second, so it should be cheap.
   * @returns A function that stops the reports.
   * @throws TieredError `TIERED_CONFIG_INVALID` for an invalid name or description.
   */
  followSequence(dataset: string, describe: () => DescribedSequence): () => void {
    return this.#sequences.add(dataset, describe);
  }

  /**
   * The sequences that the stages of this node report for a dataset, including this stage. Only this node's
   * stages count, because tiers are shared within a machine. While the registry is lost, the others stay as
   * they were. Reports of others may be false: `readsToCome` of `@tiered/prefetch/sampling` counts in bounded
   * time and memory. Cheap.
   */
  sequencesOf(dataset: string): readonly StageSequence[] {
    return this.#sequences.of(dataset);
  }

  /**
   * Guarantees the stage the rate it needs to finish in time, within the limit on guarantees. A second call
   * replaces the first.
   * @param withinMs Milliseconds from now.
   * @param remainingBytes Returns the bytes still to be read from the source. Called twice a second.
   */
  finishWithin(withinMs: number, remainingBytes: () => number): void {
    this.#finish = { at: this.#options.clock.now() + withinMs, remainingBytes };
  }

  /**
   * The latest records of all stages, and the decision made from them. After `source`, the decision includes
   * this stage as a reader of that source at once. The others see it half a second later, in its next record.
   * Cheap.
   */
  view(): { readonly seen: Seen; readonly decision: Decision } {
    return { seen: this.#seen, decision: this.#decision };
  }

  /** The rates this stage may use now, and its bytes on shared tiers. Cheap. */
  shares(): StageShares {
    return {
      job: this.#options.job,
      id: this.#id,
      sources: Object.fromEntries([...this.#sources].map(([name, { share }]) => [name, share])),
      tiers: this.#tiers.shares,
      isConnected: this.#lostAt === undefined,
    };
  }

  /**
   * Leaves the control plane. The others get the share at once if the registry can be reached. Further reads
   * here are unbounded. Idempotent.
   */
  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  /** Calls `close`, at the end of an `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    for (const source of this.#sources.values()) source.follow(NO_BOUND);
    this.#followed.clear();
    this.#tiers.clear();
    this.#sequences.clear();
    await this.#board.leave();
  }

  #report(): StageRecord {
    const { job, node, terms } = this.#options;
    const { consumed, memory, producers, stall } = this.#followed.look();
    // While the registry is lost, the use of the others is unknown.
    const isFull = (name: string) => this.#lostAt !== undefined || isSaturated(this.#decision, name);
    return {
      v: 1,
      kind: 'stage',
      job,
      node,
      terms,
      needs: this.#needs(),
      sources: Object.fromEntries(
        [...this.#sources].map(([name, source]) => [name, source.report(consumed, isFull(name))]),
      ),
      memory,
      producers,
      stall,
      ...this.#tiers.look(),
      sequences: this.#sequences.report(),
    };
  }

  /**
   * All stages, with this one as a reader of all its sources. A source it has not reported yet counts as one
   * of which it could use everything.
   */
  get #stages(): readonly Stage[] {
    const unknown = Object.fromEntries([...this.#sources].map(([name, source]) => [name, source.unknown]));
    return this.#seen.stages.map((stage) =>
      stage.id === this.#id ? { ...stage, sources: { ...unknown, ...stage.sources } } : stage,
    );
  }

  #decide(): void {
    this.#decision = decide(this.#stages, this.#seen.policy);
  }

  /** Applies the decision to a source. */
  #follow(source: StageSource): void {
    if (this.#closed === undefined) source.follow(shareOf(this.#decision, this.#id, source.name));
  }

  #needs(): number | undefined {
    if (this.#finish === undefined) return undefined;
    const seconds = (this.#finish.at - this.#options.clock.now()) / 1000;
    const bytes = this.#finish.remainingBytes();
    // Unknown needs are not guaranteed. A deadline that has passed counts as one second away.
    return bytes > 0 && bytes < Infinity ? Math.min(bytes / Math.max(1, seconds), MOST_AMOUNT) : undefined;
  }

  #looked(seen: Seen): void {
    // An exchange was in flight when the stage left.
    if (this.#closed !== undefined) return;
    if (this.#lostAt !== undefined) this.emit('registryFound');
    this.#lostAt = undefined;
    for (const source of this.#sources.values()) source.learn(seen.stages);
    this.#seen = seen;
    this.#decide();
    for (const source of this.#sources.values()) this.#follow(source);
    this.#followed.bound(this.#decision.nodes.get(this.#id));
    this.#tiers.bound((place) => roomOf(this.#decision.tiers, this.#id, place));
    this.emit('decided', this.view());
    if (this.#sequences.look(seen.stages)) this.emit('sequencesChanged');
  }

  #lost(error: unknown): void {
    if (this.#closed !== undefined) return;
    const now = this.#options.clock.now();
    if (this.#lostAt === undefined) this.emit('registryLost', { error });
    this.#lostAt ??= now;
    const isKept = now - this.#lostAt < this.#options.keepMs;
    // Other stages may be gone without notice. The first to come gets the room, as without a control plane.
    if (!isKept) this.#tiers.bound(() => undefined);
    const stages = this.#stages;
    for (const source of this.#sources.values()) {
      const sure = guaranteedOf(this.#id, source.name, stages, this.#seen.policy);
      // A stage that did not read has ceded its share to others, and cannot take it back.
      source.follow(isKept ? combined(Math.max, source.share, sure) : sure);
    }
  }
}
