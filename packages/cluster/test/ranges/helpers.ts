import { Hierarchy, MemoryDriver, systemClock, type ByteSize, type StorageDriver } from '@tiered/core';
import { LimitDriver, MetricsDriver } from '@tiered/core/decorators';
import { firstFit, PlacementHandler } from '@tiered/tiering';
import { expect, onTestFinished } from 'vitest';
import { Cluster, RangesDriver } from '../../src/index.js';
import { MemoryRecords, MemoryRegistry } from '../../src/registry/memory-registry.js';
import { bytesReadOf, knowing, PATIENT, type Objects } from '../helpers.js';

/** Bytes of a range. */
export const RANGE = 10_000;

/** Matches an error by its code. */
export const errorWith = (code: string): Error => expect.objectContaining({ code }) as Error;

/** A worker that reads whole objects, and keeps ranges of them. */
export interface RangesWorker {
  readonly cluster: Cluster;
  readonly keeper: Hierarchy;
  /** Whole objects. */
  readonly joined: StorageDriver;
  readonly hierarchy: Hierarchy;
  readonly sourceBytes: () => number;
  readonly close: () => Promise<void>;
}

export interface RangesWorkerOptions {
  readonly source: StorageDriver;
  /** The smallest limits that there are: one request to the source, and memory for one chunk. */
  readonly isTight?: boolean;
  /** Default: room for all. */
  readonly quota?: ByteSize;
}

/** Starts workers that all know each other. They end with the test. */
export async function rangesWorkers(count: number, options: RangesWorkerOptions): Promise<RangesWorker[]> {
  const records = new MemoryRecords(systemClock);
  const all: RangesWorker[] = [];
  for (let rank = 0; rank < count; rank++) all.push(await rangesWorker(count, records, options));
  await Promise.all(all.map(({ cluster }) => knowing(cluster, count - 1)));
  return all;
}

async function rangesWorker(
  size: number,
  records: MemoryRecords,
  { source, isTight = false, quota = '64MiB' }: RangesWorkerOptions,
): Promise<RangesWorker> {
  const cluster = await Cluster.join({ registry: new MemoryRegistry(records), size, ...PATIENT });
  const counted = new MetricsDriver(source);
  const limited = isTight ? new LimitDriver(counted, { concurrency: 1 }) : counted;
  const ranges = new RangesDriver(limited, { bytes: RANGE });
  const limits = isTight ? { chunk: 1_000, memory: 2 * RANGE, concurrency: 1 } : {};
  const keeper = new Hierarchy({
    source: cluster.source(ranges),
    tiers: [{ driver: new MemoryDriver(), quota }],
    placement: new PlacementHandler({ policy: cluster.policy(firstFit), ...limits }),
  });
  await keeper.open();
  await cluster.serve(keeper);
  const joined = ranges.joined(keeper);
  const hierarchy = new Hierarchy({ source: joined });
  await hierarchy.open();
  const close = async () => {
    await hierarchy.close();
    await keeper.close();
    await cluster.close();
  };
  onTestFinished(close);
  return { cluster, keeper, joined, hierarchy, sourceBytes: () => bytesReadOf(counted), close };
}

/** Reads all objects, each as a whole, and compares them. */
export async function readWhole({ hierarchy }: RangesWorker, objects: Objects): Promise<void> {
  for (const [key, bytes] of objects) expect(Buffer.compare(await hierarchy.read(key), bytes), key).toBe(0);
}
