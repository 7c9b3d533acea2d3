import { Hierarchy, MemoryDriver, type Clock } from '@tiered/core';
import { MemoryRegistry, type MemoryRecords } from '@tiered/cluster/registry';
import { ThrottleDriver } from '@tiered/core/decorators';
import type { StorageDriver } from '@tiered/core/driver';
import { Prefetcher, StagingBuffer } from '@tiered/prefetch';
import { Control, type ControlOptions, type ControlSourceOptions } from '../src/index.js';

const OBJECT_BYTES = 100_000;
const OBJECTS = 64;
const keyOf = (i: number) => `object-${i % OBJECTS}`;

/** A source in memory that all jobs read, as slow as they say. */
export async function slowSource(
  clock: Clock,
  {
    bytesPerSecond = 150e6,
    latencyMs = 1,
    concurrency,
  }: { bytesPerSecond?: number; latencyMs?: number; concurrency?: number } = {},
): Promise<StorageDriver> {
  const memory = new MemoryDriver();
  await memory.open({});
  const bytes = new Uint8Array(OBJECT_BYTES);
  for (let i = 0; i < OBJECTS; i++) await memory.write(keyOf(i), bytes, { size: OBJECT_BYTES });
  return new ThrottleDriver(memory, { clock, bytesPerSecond, latencyMs, concurrency });
}

/** How a job reads. */
export interface JobOptions extends Omit<ControlOptions, 'registry'> {
  readonly source?: ControlSourceOptions | undefined;
  /** Requests at a time. */
  readonly producers?: number | undefined;
  /** Milliseconds of the consumer for a sample. Default: 0. */
  readonly computeMs?: number | undefined;
  readonly clock: Clock;
  readonly records: MemoryRecords;
}

/** A job that reads until it is stopped. */
export interface Job {
  readonly control: Control;
  /** Bytes that its consumer has taken. */
  readonly bytes: () => number;
  readonly stop: () => Promise<void>;
}

/** Starts a job: a hierarchy behind a control, a prefetcher, and a consumer. */
export async function startJob(driver: StorageDriver, options: JobOptions): Promise<Job> {
  const { producers = 8, computeMs = 0, clock, records, source: named, ...rest } = options;
  const control = await Control.join({ ...rest, clock, registry: new MemoryRegistry(records) });
  const hierarchy = new Hierarchy({ source: control.source(driver, named), clock, scan: true });
  await hierarchy.open();
  const buffer = new StagingBuffer({ memory: 64 * OBJECT_BYTES, producers, clock });
  control.followBuffer(buffer);
  const keys = function* () {
    for (let i = 0; ; i++) yield keyOf(i);
  };
  const prefetcher = new Prefetcher(hierarchy, keys(), { staging: buffer, clock });
  const ended = new AbortController();
  let bytes = 0;
  const consume = async () => {
    for await (const sample of prefetcher) {
      bytes += sample.data.byteLength;
      sample.release();
      if (computeMs > 0) await clock.sleep(computeMs, ended.signal);
      if (ended.signal.aborted) return;
    }
  };
  const consuming = consume().catch((error: unknown) => {
    if (!ended.signal.aborted) throw error;
  });
  return {
    control,
    bytes: () => bytes,
    stop: async () => {
      ended.abort(new Error('The job has ended.'));
      await prefetcher.close();
      await consuming;
      await hierarchy.close();
      await control.close();
    },
  };
}
