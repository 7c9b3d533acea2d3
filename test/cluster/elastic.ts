import { Cluster, type HomePlan } from '@tiered/cluster';
import { RendezvousHomes } from '@tiered/cluster/internal';
import { MemoryRecords, MemoryRegistry } from '@tiered/cluster/registry';
import { Hierarchy, MemoryDriver, type StorageDriver } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { loadChecksum } from '@tiered/core/internal';
import { ManualClock, someBytes } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { Prefetcher, type PrefetcherState } from '@tiered/prefetch';
import { samplerSequence, type Sampler } from '@tiered/prefetch/sampling';
import { firstFit, PlacementHandler } from '@tiered/tiering';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { bytesReadOf } from '../../packages/cluster/test/helpers.js';

export const SAMPLES = 240;
export const BYTES = 2_000;
/** All of the dataset. */
export const DATA = SAMPLES * BYTES;
/** Of a worker: room for all, and for what a disk keeps beside it. */
const TIER = 2 * DATA;
/** By sample. */
export const KEYS = Array.from({ length: SAMPLES }, (_, i) => `o${1000 + i}`);

/** How far time goes at once while workers get to know each other, in milliseconds. */
const STEP_MS = 100;

/** A worker of a job whose workers come and go. */
export interface ElasticWorker {
  readonly cluster: Cluster;
  readonly hierarchy: Hierarchy;
  leave(): Promise<void>;
}

/** Workers that come and go, over one source. All end with the test. */
export class ElasticJob {
  /** Those that are there. Each has its rank as its place. */
  readonly workers: ElasticWorker[] = [];
  /**
   * Time goes on only while workers come and go. So no answer is late, however busy the machine is, and what
   * is counted is what was needed.
   */
  readonly #clock = new ManualClock();
  readonly #records = new MemoryRecords(this.#clock);
  readonly #source: MetricsDriver;
  readonly #disks: string | undefined;

  private constructor(source: MetricsDriver, disks: string | undefined) {
    this.#source = source;
    this.#disks = disks;
  }

  static async start(workers: number, plans: readonly HomePlan[] = [], disks?: string): Promise<ElasticJob> {
    const source = new MemoryDriver({ name: 'source' });
    for (const [i, key] of KEYS.entries()) await source.write(key, someBytes(BYTES, i), { size: BYTES });
    const job = new ElasticJob(new MetricsDriver(source), disks);
    await job.resize(workers, plans);
    return job;
  }

  /** As `start`, of workers whose tiers are on disks, which stay when a worker leaves. */
  static async onDisks(workers: number): Promise<ElasticJob> {
    const disks = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-elastic-'));
    // After the workers have left.
    onTestFinished(() => fs.rmSync(disks, { recursive: true }));
    return ElasticJob.start(workers, [], disks);
  }

  /** Bytes that all workers together have read from the source. */
  get sourceBytes(): number {
    return bytesReadOf(this.#source);
  }

  /**
   * Has workers leave, the last ones first, or come, one after the other, until there are so many, who all
   * know it.
   * @param plans Those that workers follow that come, the present one last.
   */
  async resize(workers: number, plans: readonly HomePlan[] = []): Promise<void> {
    while (this.workers.length > workers) await this.workers.pop()?.leave();
    while (this.workers.length < workers) {
      this.workers.push(await this.#join(this.workers.length, plans));
      await this.#known();
    }
    await this.#known();
  }

  /** Each sample is read by its worker, from a state on. Resolves to the samples of each, in its order. */
  async read(
    sampler: Sampler,
    states: readonly PrefetcherState[] = [],
    counts: readonly number[] = [],
  ): Promise<{ readonly samples: number[][]; readonly states: PrefetcherState[] }> {
    const read = await Promise.all(
      this.workers.map(async ({ hierarchy }, worker) => {
        const sequence = samplerSequence(sampler, worker, KEYS);
        await using prefetcher = new Prefetcher(hierarchy, sequence, { resume: states[worker] });
        const samples = await taken(prefetcher, counts[worker] ?? Infinity);
        // As a checkpoint has it.
        const state = JSON.parse(JSON.stringify(prefetcher.state())) as PrefetcherState;
        return { samples, state };
      }),
    );
    await Promise.all(this.workers.map(({ hierarchy }) => hierarchy.idle()));
    return { samples: read.map(({ samples }) => samples), states: read.map(({ state }) => state) };
  }

  async #join(rank: number, plans: readonly HomePlan[]): Promise<ElasticWorker> {
    const registry = new MemoryRegistry(this.#records);
    // Those who leave are gone at once.
    const cluster = await Cluster.join({ registry, rank, goneAfterMs: 1, clock: this.#clock });
    for (const plan of plans) cluster.usePlan(plan);
    const hierarchy = await new Hierarchy({
      source: cluster.source(this.#source),
      tiers: [{ driver: this.#tierOf(rank), quota: TIER }],
      placement: new PlacementHandler({ policy: cluster.policy(firstFit), chunk: BYTES }),
    }).open();
    await cluster.serve(hierarchy);
    const leave = async () => {
      await hierarchy.close();
      await cluster.close();
    };
    onTestFinished(leave);
    return { cluster, hierarchy, leave };
  }

  /** The one that a worker of this rank had before, if there are disks. */
  #tierOf(rank: number): StorageDriver {
    if (this.#disks === undefined) return new MemoryDriver({ name: 'ram' });
    return new FileSystemDriver({ root: path.join(this.#disks, `rank-${rank}`), writable: true });
  }

  async #known(): Promise<void> {
    const others = this.workers.length - 1;
    const isKnown = ({ cluster }: ElasticWorker) => {
      const { members, perPeer } = cluster.stats();
      return members === others + 1 && perPeer.length === others;
    };
    while (!this.workers.every(isKnown)) await this.#clock.advance(STEP_MS);
  }
}

/** The home of each sample among so many workers, if there is no plan. */
export async function homesAmong(workers: number): Promise<readonly number[]> {
  const checksum = await loadChecksum();
  const ranks = Array.from({ length: workers }, (_, rank) => rank);
  const homes = new RendezvousHomes(ranks, (key) => checksum.text(key));
  return KEYS.map((key) => homes.of(key).at(-1) ?? -1);
}

/** Takes so many samples, or all that are left, and looks at every byte. */
async function taken(prefetcher: Prefetcher, count: number): Promise<number[]> {
  const samples: number[] = [];
  while (samples.length < count) {
    const batch = await prefetcher.take(Math.min(10, count - samples.length));
    if (batch.length === 0) break;
    for (const sample of batch) {
      const number = KEYS.indexOf(sample.key);
      expect(Buffer.compare(sample.data, someBytes(BYTES, number)), sample.key).toBe(0);
      samples.push(number);
      sample.release();
    }
  }
  return samples;
}
