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
/** A record has all sources, and a registry keeps small ones. */
const MOST_SOURCES = 8;

/** What a control tells of. */
export interface ControlEvents {
  /** All stages were looked at, and their shares decided. Some twice a second. */
  decided: (event: { readonly seen: Seen; readonly decision: Decision }) => void;
  /** Stages of this node read something else than before, or have come to another epoch: `sequencesOf`. */
  sequencesChanged: () => void;
  /** The registry cannot be reached. The stage keeps its share, and later goes by what it can count on. */
  registryLost: (event: { readonly error: unknown }) => void;
  /** The registry can be reached again. */
  registryFound: () => void;
}

/** Options of `Control.source`. */
export interface ControlSourceOptions {
  /**
   * What the source is called. Stages that name the same share it, so name the file system or the endpoint
   * that jobs have in common, and not the dataset. Default: where the driver reads, as `file:///data/`.
   */
  readonly name?: string | undefined;
  /**
   * What the source gives. Operators can set another budget for all. If several stages say different things,
   * the least counts. Default: it is measured, once several jobs use the source.
   */
  readonly budget?: RateOptions | undefined;
}

/** What a stage has of a source. */
export interface StageShares {
  readonly job: string;
  /** Names the stage among those of the job. */
  readonly id: string;
  /** By the name of the source: what may pass in a second. */
  readonly sources: Readonly<Record<string, Rate>>;
  /** By the place of the tier: what it holds and may hold, where several jobs of the node fill it. */
  readonly tiers: Readonly<Record<string, TierShare>>;
  /** Whether the registry could be reached when it was last tried. */
  readonly isConnected: boolean;
}

/**
 * A stage of a job in the control plane: a hierarchy with its prefetchers, which shares sources, memory and
 * producers with those of other jobs (PRISMA, Cluster'21, sections III and VII).
 *
 * Each half second a stage puts into the registry what it could use and what it uses, and looks what the
 * others say. From these records every stage computes the shares of all, by a pure function (`decide`), and
 * takes its own. So there is no controller that could die, and no message that says who is right. What
 * operators set is a record too.
 *
 * **A lost registry** fails no read. The stage keeps its last share for `keepMs`. Then it goes by what it
 * would have if all the stages that it knew wanted everything, until the registry is found again.
 *
 * **Cost.** A request to a source that is not bounded costs three looks at the clock. A record is a few
 * hundred bytes, twice a second.
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
   * Joins the stages of all jobs.
   * @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work, `TIERED_UNAVAILABLE` if the
   * registry cannot be reached. Abort rejects with `signal.reason`.
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
   * Puts a source behind the stage's share of it. Give the result to the hierarchy in place of the driver;
   * with a cluster, put it below: `cluster.source(control.source(driver))`, since peers are no source.
   * Until the first look at the others it has what it would have if it wanted everything.
   * @throws TieredError `TIERED_CONFIG_INVALID` for a name or a budget that cannot be, and for more than 8
   * sources.
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
   * Has the stage say what its consumers could use, and keep to its share of the node: give all staging
   * buffers of the job that read from its sources. Without any, a stage whose requests wait asks for
   * everything.
   * @returns Stops that, and removes the bounds.
   */
  followBuffer(buffer: StagingBuffer): () => void {
    return this.#followed.add(buffer);
  }

  /**
   * Has the stage show how full the tiers of a hierarchy are, until that is closed, and keep to the job's
   * part of those that other jobs of the node fill too. What it placed above its part it gives back once they
   * need it: 64 MiB at a look, or an eighth of a small tier, and at least a copy. Call it before anything is
   * placed: copies count that are placed from then on.
   * @returns Stops that, and removes the bounds.
   */
  followTiers(hierarchy: Hierarchy): () => void {
    return this.#tiers.add(hierarchy);
  }

  /**
   * Has the stage say in which order it reads a dataset, so that others foresee its reads: for tiers that
   * keep what all of them read most often. Of more than 4 at a time, the first 4 are said.
   * @param dataset What is read, and the tiers that hold it: 1 to 64 letters, digits, `-` and `_`. Stages
   * that name the same have the same samples under the same numbers, on tiers that they share.
   * @param describe Where the stage stands; asked twice a second. Cheap.
   * @returns Ends that.
   * @throws TieredError `TIERED_CONFIG_INVALID` for a name or a description that cannot be.
   */
  followSequence(dataset: string, describe: () => DescribedSequence): () => void {
    return this.#sequences.add(dataset, describe);
  }

  /**
   * What the stages of this node say that they read of a dataset, this one among them: tiers that are shared
   * are those of a machine. While the registry is lost, the others are as they were. What others say may be
   * a lie: `readsToCome` of `@tiered/prefetch/sampling` counts in bounded time and memory. Cheap.
   */
  sequencesOf(dataset: string): readonly StageSequence[] {
    return this.#sequences.of(dataset);
  }

  /**
   * Guarantees the stage what it needs to end in time, out of what the job's guarantees may take. A second
   * call replaces the first.
   * @param withinMs Milliseconds from now.
   * @param remainingBytes What is still to be read from the source; asked twice a second.
   */
  finishWithin(withinMs: number, remainingBytes: () => number): void {
    this.#finish = { at: this.#options.clock.now() + withinMs, remainingBytes };
  }

  /**
   * What all stages said last, and what came of it. This stage is in the decision as a reader of a source
   * from `source` on; the others see it half a second later, in its next record. Cheap.
   */
  view(): { readonly seen: Seen; readonly decision: Decision } {
    return { seen: this.#seen, decision: this.#decision };
  }

  /** What this stage may use now, and holds of shared tiers. Cheap. */
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
   * Leaves. The others have the share at once, as far as the registry can be reached, and what still reads
   * here is not bounded any more. Idempotent.
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
    // While the registry is lost, nobody knows what the others use.
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
   * All stages, with this one as a reader of all its sources. Others may not know yet that it is: then it
   * could use everything, as far as anybody knows.
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

  /** Has a source go by what was decided. */
  #follow(source: StageSource): void {
    if (this.#closed === undefined) source.follow(shareOf(this.#decision, this.#id, source.name));
  }

  #needs(): number | undefined {
    if (this.#finish === undefined) return undefined;
    const seconds = (this.#finish.at - this.#options.clock.now()) / 1000;
    const bytes = this.#finish.remainingBytes();
    // What is not known is not promised. A time that is over already can only be hurried to.
    return bytes > 0 && bytes < Infinity ? Math.min(bytes / Math.max(1, seconds), MOST_AMOUNT) : undefined;
  }

  #looked(seen: Seen): void {
    // An exchange that was under way when the stage left.
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
    // Others may be gone, and nobody says so. Who comes first has the room, as without a control plane.
    if (!isKept) this.#tiers.bound(() => undefined);
    const stages = this.#stages;
    for (const source of this.#sources.values()) {
      const sure = guaranteedOf(this.#id, source.name, stages, this.#seen.policy);
      // A stage that did not read has left its share to others, and cannot take it back.
      source.follow(isKept ? combined(Math.max, source.share, sure) : sure);
    }
  }
}
