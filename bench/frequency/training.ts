import { mkdtemp } from 'node:fs/promises';
import path from 'node:path';
import { Hierarchy, MemoryDriver } from '@tiered/core';
import { MetricsDriver, ThrottleDriver } from '@tiered/core/decorators';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { Prefetcher } from '@tiered/prefetch';
import { samplerSequence, type AccessTable, type Sampler } from '@tiered/prefetch/sampling';
import { frequency, placeInOrder, PlacementHandler } from '@tiered/tiering';
import { fillOrder, frequencyPlan, UNPLANNED } from '@tiered/tiering/plans';
import { countsOf } from '../lib/counts.js';
import type { Dataset } from './dataset.js';
import { quotaOnDisk } from '../lib/on-disk.js';

/** A source, as the throttle makes it and as a rule may see it. */
export interface Source {
  readonly name: string;
  readonly latencyMs: number;
  readonly bytesPerSecond: number;
}

/** Milliseconds that a read takes of a source. */
export function readMs({ latencyMs, bytesPerSecond }: Source, bytes: number): number {
  return latencyMs + (bytes / bytesPerSecond) * 1000;
}

/** How a worker chooses what to keep. */
export interface Rule {
  readonly name: string;
  /** The source that it takes reads to come from; undefined for plain frequency. */
  readonly believed?: Source;
}

/** What a worker will read, and of what. */
export interface Work {
  readonly dataset: Dataset;
  readonly sampler: Sampler;
  readonly accesses: AccessTable;
}

/** Shares of the dataset that RAM and the disk hold. */
const RAM = 0.1;
const DISK = 0.2;

/** The training of one worker, from tiers that are filled as a rule has it. */
export class Training {
  readonly #work: Work;
  readonly #source: Source;
  readonly #plan: Uint8Array;
  readonly #counted: MetricsDriver;
  readonly #hierarchy: Hierarchy;

  private constructor(
    work: Work,
    source: Source,
    plan: Uint8Array,
    counted: MetricsDriver,
    hierarchy: Hierarchy,
  ) {
    this.#work = work;
    this.#source = source;
    this.#plan = plan;
    this.#counted = counted;
    this.#hierarchy = hierarchy;
  }

  /** Plans, and fills the tiers. */
  static async start(
    { dataset, sampler, accesses }: Work,
    source: Source,
    { believed }: Rule,
    scratch: string,
  ): Promise<Training> {
    const quotas = [RAM, DISK].map((share) => Math.floor(share * dataset.bytes));
    const [ram = 0, disk = 0] = quotas;
    const savedMs = believed && ((bytes: number) => readMs(believed, bytes));
    const plan = frequencyPlan({ ...accesses, sizes: dataset.sizes, quotas, savedMs });
    const counted = new MetricsDriver(dataset.driver);
    const cache = await mkdtemp(path.join(scratch, 'cache-'));
    const hierarchy = await new Hierarchy({
      source: new ThrottleDriver(counted, source),
      tiers: [
        { driver: new MemoryDriver({ name: 'ram' }), quota: ram },
        {
          driver: new FileSystemDriver({ root: cache, writable: true }),
          quota: quotaOnDisk(disk, dataset.keys.length),
        },
      ],
      placement: new PlacementHandler({ policy: frequency({ plan, sampleOf: dataset.sampleOf }) }),
    }).open();
    const order = Array.from(fillOrder({ plan, first: accesses.first }), String);
    const { left } = await placeInOrder(hierarchy, order);
    if (left > 0) throw new Error(`${left} planned samples have found no room`);
    return new Training({ dataset, sampler, accesses }, source, plan, counted, hierarchy);
  }

  /** Reads all epochs. */
  async run(producers: number): Promise<void> {
    const { dataset, sampler, accesses } = this.#work;
    const sequence = samplerSequence(sampler, accesses.worker, dataset.keys);
    for await (const { key, data } of new Prefetcher(this.#hierarchy, sequence, { producers }))
      if (data.byteLength !== dataset.sizes[dataset.sampleOf(key)])
        throw new Error(`${key} came with ${data.byteLength} bytes`);
  }

  /** Operations that have reached the source. */
  get sourceOperations(): number {
    return countsOf(this.#counted).operations;
  }

  /**
   * What the plan says of all epochs: shares that tiers serve, and seconds at the source, where readers wait
   * for latency side by side, and bytes come one after the other.
   */
  predicted(readers: number): {
    readonly accesses: number;
    readonly bytes: number;
    readonly seconds: number;
  } {
    const all = { accesses: 0, bytes: 0 };
    const tiers = { accesses: 0, bytes: 0 };
    const shared = { ...this.#source, latencyMs: this.#source.latencyMs / readers };
    let ms = 0;
    for (const [sample, count] of this.#work.accesses.frequency.entries()) {
      const size = this.#work.dataset.sizes[sample] ?? 0;
      const isKept = this.#plan[sample] !== UNPLANNED;
      for (const sums of isKept ? [all, tiers] : [all]) {
        sums.accesses += count;
        sums.bytes += count * size;
      }
      if (!isKept) ms += count * readMs(shared, size);
    }
    return {
      accesses: tiers.accesses / all.accesses,
      bytes: tiers.bytes / all.bytes,
      seconds: ms / 1000,
    };
  }

  close(): Promise<void> {
    return this.#hierarchy.close();
  }
}
