import {
  Hierarchy,
  MemoryDriver,
  systemClock,
  type Clock,
  type PeerModel,
  type StorageDriver,
} from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { someBytes } from '@tiered/core/testing';
import { firstFit, PlacementHandler } from '@tiered/tiering';
import { onTestFinished } from 'vitest';
import { Cluster, type ClusterOptions, type HomePlan } from '../src/index.js';
import { MemoryRecords, MemoryRegistry } from '../src/registry/memory-registry.js';

export type Objects = ReadonlyMap<string, Uint8Array>;

/** Objects of random bytes, whose sizes differ. */
export function objectsOf(count: number, bytes = 20_000): Objects {
  return new Map(Array.from({ length: count }, (_, i) => [`d${i % 3}/o${i}`, someBytes(bytes + i, i)]));
}

export async function sourceOf(objects: Objects): Promise<MemoryDriver> {
  const source = new MemoryDriver({ name: 'source' });
  for (const [key, bytes] of objects) await source.write(key, bytes, { size: bytes.byteLength });
  return source;
}

/** A worker: its cluster, its hierarchy, and what it reads from the source. */
export interface Worker {
  readonly cluster: Cluster;
  readonly hierarchy: Hierarchy;
  /** Bytes that it has read from the source. */
  readonly sourceBytes: () => number;
  readonly close: () => Promise<void>;
}

export interface WorkerOptions extends Partial<ClusterOptions> {
  readonly source: StorageDriver;
  readonly records: MemoryRecords;
  readonly quota?: string;
  readonly plan?: HomePlan;
  readonly model?: PeerModel;
  readonly clock?: Clock;
}

/** On a machine that is busy, an answer may take long; a second request would be counted. */
export const PATIENT = { deadlineMs: 60_000, lateAfterMs: 60_000 };

/** Starts a worker with a tier in memory. It ends with the test. */
export async function worker({
  source,
  records,
  quota = '64MiB',
  plan,
  model,
  ...options
}: WorkerOptions): Promise<Worker> {
  const clock = options.clock ?? systemClock;
  const cluster = await Cluster.join({
    registry: new MemoryRegistry(records),
    clock,
    ...PATIENT,
    ...options,
  });
  const counted = new MetricsDriver(source);
  const hierarchy = new Hierarchy({
    source: cluster.source(counted, { plan, model }),
    tiers: quota === '0' ? [] : [{ driver: new MemoryDriver(), quota }],
    placement: new PlacementHandler({ policy: cluster.policy(firstFit) }),
  });
  await hierarchy.open();
  await cluster.serve(hierarchy);
  const close = async () => {
    await hierarchy.close();
    await cluster.close();
  };
  onTestFinished(close);
  return { cluster, hierarchy, sourceBytes: () => bytesReadOf(counted), close };
}

/** Bytes that were read of a driver. */
export function bytesReadOf(counted: MetricsDriver): number {
  const { read, readInto } = counted.metrics().operations;
  return (read?.bytes ?? 0) + (readInto?.bytes ?? 0);
}

/** Workers that all know each other. */
export async function workers(count: number, options: Omit<WorkerOptions, 'records'>): Promise<Worker[]> {
  const records = new MemoryRecords(options.clock ?? systemClock);
  const all: Worker[] = [];
  for (let rank = 0; rank < count; rank++) all.push(await worker({ ...options, records, size: count }));
  await Promise.all(all.map(({ cluster }) => knowing(cluster, count - 1)));
  return all;
}

/** Resolves once a worker can ask so many others. */
export async function knowing(cluster: Cluster, count: number): Promise<void> {
  await until(cluster, () => cluster.stats().perPeer.length === count);
}

/** Resolves once that is true, which only other members make it. */
export async function until(cluster: Cluster, isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise<void>((resolve) => cluster.once('members', () => resolve()));
}
