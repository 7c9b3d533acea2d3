import { Cluster, type HomePlan } from '@tiered/cluster';
import { isTieredError, Random } from '@tiered/core';
import type { ManualClock } from '@tiered/core/testing';
import { close } from '../simulated/calls.js';
import { KEYS, type Dataset, type Key } from '../simulated/dataset.js';
import type { SimulatedDisk } from '../simulated/disk.js';
import { Finding } from '../simulated/finding.js';
import { Knowledge } from '../simulated/knowledge.js';
import { Life } from '../simulated/life.js';
import { SimulatedProcess } from '../simulated/process.js';
import { CountedSource } from './counted-source.js';
import type { Network } from './network.js';
import type { SimulatedRegistry } from '../simulated/registry.js';
import { RANKS, type NodeStart } from './steps.js';

/** Milliseconds that a peer has. */
export const DEADLINE_MS = 5000;
/** Milliseconds that a record lives. */
export const TTL_MS = 10_000;
/** Milliseconds after which others are the homes of what was a node's that is gone. */
export const GONE_MS = 60_000;

/** What nodes need of their world. */
export interface NodeSurroundings {
  readonly clock: ManualClock;
  readonly dataset: Dataset;
  /** That of its machine. */
  readonly disk: SimulatedDisk;
  readonly network: Network;
  readonly registry: SimulatedRegistry;
  readonly size: number | undefined;
  readonly onFault: (kind: string) => void;
}

/** A node from its start to its end: a process, its cluster, and a hierarchy over tiers of its own. */
export class Node {
  readonly options: NodeStart;
  readonly process: SimulatedProcess;
  readonly known: Knowledge;
  readonly source: CountedSource;
  cluster: Cluster | undefined;
  life: Life | undefined;
  isStarted = false;
  /** Whether it has left its cluster, and reads on. */
  hasLeft = false;
  /** How often it was stopped. */
  stops = 0;
  readonly #around: NodeSurroundings;

  constructor(options: NodeStart, around: NodeSurroundings) {
    this.options = options;
    this.#around = around;
    this.process = new SimulatedProcess(around.clock, new Random(options.seed, 1));
    this.known = new Knowledge(around.dataset, options);
    this.source = new CountedSource(around.dataset.driver);
  }

  get isRunning(): boolean {
    return this.process.state === 'running';
  }

  /** Whether it reads, and was not told to end. */
  get isReading(): boolean {
    return this.isRunning && this.isStarted && this.life?.isClosing === false;
  }

  /** Its tiers, if it has any. */
  get disks(): readonly SimulatedDisk[] {
    return this.options.hasDisk ? [this.#around.disk] : [];
  }

  /** Joins, opens and serves. Resolves to false if it may not join, or cannot now. */
  async start(): Promise<boolean> {
    const { network, registry, size, clock } = this.#around;
    const { who, rank, share } = this.options;
    const client = { host: who, process: this.process, onAsked: (key: string) => this.#asked(key) };
    const began = { state: registry.state, losses: registry.losses };
    try {
      this.cluster = await Cluster.joinBy(() => network.transportOf(client), {
        registry: registry.wayOf(this.process),
        rank,
        size,
        share,
        ttlMs: TTL_MS,
        goneAfterMs: GONE_MS,
        deadlineMs: DEADLINE_MS,
        clock: this.process.clock,
      });
    } catch (error) {
      if (isTieredError(error, 'TIERED_CONFIG_INVALID') && this.#isTaken(clock.now())) return false;
      const wasLost = began.state !== 'there' || registry.losses > began.losses || this.stops > 0;
      if (isTieredError(error, 'TIERED_UNAVAILABLE') && wasLost) return false;
      throw new Finding('failed start', String(error), error);
    }
    await this.#open(this.cluster);
    return true;
  }

  async #open(cluster: Cluster): Promise<void> {
    const node = { process: this.process, cluster, source: this.source };
    const life = new Life(this.options, { ...this.#around, disks: this.disks, node });
    this.life = life;
    this.known.begin(KEYS);
    await life.hierarchy.open();
    this.known.listed(KEYS);
    await cluster.serve(life.hierarchy);
    life.isStarted = true;
    this.isStarted = true;
  }

  /** What it is asked for becomes known to its hierarchy, now at the earliest. */
  #asked(key: string): void {
    const known = KEYS.find((one) => one === key);
    if (known !== undefined) this.known.lowest(known);
  }

  /** Whether others may have its rank, or all of them. */
  #isTaken(now: number): boolean {
    const { rank } = this.options;
    const { registry, size } = this.#around;
    if (rank === undefined) return size !== undefined;
    return registry.records.all().some(({ slot, until }) => slot === `rank-${rank}` && until > now);
  }

  /** Leaves its cluster, and reads on. */
  async leave(): Promise<void> {
    this.hasLeft = true;
    await this.cluster?.close();
  }

  /** Goes by a plan. */
  follow(plan: number): void {
    if (!this.hasLeft && this.isReading) this.cluster?.usePlan(planOf(plan));
  }

  async close(): Promise<void> {
    if (this.life !== undefined) await close(this.life, this.disks);
  }

  /** As `kill -9`. */
  kill(): void {
    if (this.life === undefined) this.process.kill();
    else this.life.kill(this.disks);
  }

  /** Whether it keeps an object on a tier, and which version. */
  kept(key: Key): string | undefined {
    if (this.life === undefined) return undefined;
    const { hierarchy } = this.life;
    const id = hierarchy.namespace.find(key);
    const level = id < 0 ? undefined : hierarchy.placeOf(id)?.level;
    return level === undefined || level >= hierarchy.tiers.length
      ? undefined
      : hierarchy.namespace.versionOf(id);
  }

  /** The version of an object that it knows. */
  versionOf(key: Key): string | undefined {
    const namespace = this.life?.hierarchy.namespace;
    const id = namespace?.find(key) ?? -1;
    return id < 0 ? undefined : namespace?.versionOf(id);
  }
}

/** One of the plans that there are, each with other homes. */
export function planOf(plan: number): HomePlan {
  return {
    homes: Uint16Array.from(KEYS, (_, sample) => (sample + plan) % RANKS),
    sampleOf: (key) => KEYS.findIndex((one) => one === key),
    id: `plan ${plan}`,
  };
}
