import { Cluster, type HomePlan } from '@tiered/cluster';
import { MemoryRecords, MemoryRegistry } from '@tiered/cluster/registry';
import { Hierarchy, MemoryDriver, systemClock } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { someBytes } from '@tiered/core/testing';
import { Prefetcher, type PrefetcherState } from '@tiered/prefetch';
import { samplerSequence, type Sampler } from '@tiered/prefetch/sampling';
import { firstFit, PlacementHandler } from '@tiered/tiering';
import { expect, onTestFinished } from 'vitest';
import { bytesReadOf } from '../../packages/cluster/test/helpers.js';

export const SAMPLES = 240;
export const BYTES = 2_000;
/** All of the dataset. */
export const DATA = SAMPLES * BYTES;
/** By sample. */
export const KEYS = Array.from({ length: SAMPLES }, (_, i) => `o${1000 + i}`);

/** On a machine that is busy, an answer may take long; a second request would be counted. */
const PATIENT = { deadlineMs: 60_000, lateAfterMs: 60_000, ttlMs: 60_000 };

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
  readonly #records = new MemoryRecords(systemClock);
  readonly #source: MetricsDriver;

  private constructor(source: MetricsDriver) {
    this.#source = source;
  }

  static async start(workers: number, plans: readonly HomePlan[] = []): Promise<ElasticJob> {
    const source = new MemoryDriver({ name: 'source' });
    for (const [i, key] of KEYS.entries()) await source.write(key, someBytes(BYTES, i), { size: BYTES });
    const job = new ElasticJob(new MetricsDriver(source));
    await job.resize(workers, plans);
    return job;
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
    // Those who leave are gone at once.
    const registry = new MemoryRegistry(this.#records);
    const cluster = await Cluster.join({ registry, rank, goneAfterMs: 1, ...PATIENT });
    for (const plan of plans) cluster.usePlan(plan);
    const hierarchy = await new Hierarchy({
      source: cluster.source(this.#source),
      tiers: [{ driver: new MemoryDriver({ name: 'ram' }), quota: DATA }],
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

  async #known(): Promise<void> {
    const others = this.workers.length - 1;
    const isKnown = ({ cluster }: ElasticWorker) => {
      const { members, perPeer } = cluster.stats();
      return members === others + 1 && perPeer.length === others;
    };
    for (const worker of this.workers)
      while (!isKnown(worker))
        await new Promise<void>((resolve) => worker.cluster.once('members', () => resolve()));
  }
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
