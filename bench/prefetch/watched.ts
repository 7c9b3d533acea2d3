import { systemClock, type StorageDriver } from '@tiered/core';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import { listSequence, Prefetcher, StagingBuffer, type StagingBufferOptions } from '@tiered/prefetch';
import type { Comparison } from './compare.js';
import { consume } from './loops.js';
import type { Step } from './steps.js';
import { computing, openWork, secondsOf } from './work.js';

/** A run, and what was seen at each read that began or ended, and at each sample that was taken. */
export interface WatchedRun {
  readonly seconds: number;
  /** Reads of the source under way. */
  readonly reads: readonly Step[];
  /**
   * The part of the buffer in use, from 0 to 1, as PRISMA counts it: of its samples, or of its bytes where
   * samples have no bound.
   */
  readonly occupancy: readonly Step[];
  /** Milliseconds that the consumer waited for samples. */
  readonly stallMs: number;
  /** The settings at the end. */
  readonly tuning: StagingBuffer['tuning'];
}

/** Samples that the consumer takes before it computes. */
export const BATCH = 32;

/** Runs a consumer that takes sample by sample, and computes for so many milliseconds after each batch. */
export async function watchedRun(
  { source, dataset, count }: Comparison,
  options: StagingBufferOptions,
  batchMs: number,
): Promise<WatchedRun> {
  let start = 0;
  const [reads, occupancy]: [Step[], Step[]] = [[], []];
  const add = (steps: Step[], value: number) => steps.push({ atMs: systemClock.now() - start, value });
  const open = (directory: string) => new WatchedDriver(source.open(directory), (n) => add(reads, n));
  const { hierarchy, keys, size } = await openWork(dataset, { ...source, open }, count);
  let stallMs = 0;
  let stored: () => void = () => undefined;
  // A line of it comes with each read, when its sample is in the buffer.
  const staging = new StagingBuffer({ ...options, debug: () => stored() });
  const seconds = await secondsOf(async () => {
    start = systemClock.now();
    for (const steps of [reads, occupancy]) steps.splice(0, Infinity, { atMs: 0, value: 0 });
    await using prefetcher = new Prefetcher(hierarchy, listSequence(keys), { staging });
    stored = () => add(occupancy, occupancyOf(prefetcher, staging));
    const compute = computing();
    let taken = 0;
    for await (const { data } of prefetcher) {
      stored();
      consume(data, size);
      taken += 1;
      if (batchMs > 0 && taken % BATCH === 0) await compute(batchMs);
    }
    ({ stallMs } = prefetcher.stats());
  });
  await hierarchy.close();
  return { seconds, reads, occupancy, stallMs, tuning: staging.tuning };
}

function occupancyOf(prefetcher: Prefetcher, { tuning }: StagingBuffer): number {
  const { ready, heldBytes } = prefetcher.stats();
  const { samples, memoryBytes } = tuning;
  return Math.min(1, Number.isFinite(samples) ? ready / samples : heldBytes / memoryBytes);
}

/** Tells how many reads are under way, each time that changes. */
class WatchedDriver extends InterceptingDriver {
  readonly #onChange: (underWay: number) => void;
  #underWay = 0;

  constructor(inner: StorageDriver, onChange: (underWay: number) => void) {
    super(inner);
    this.#onChange = onChange;
  }

  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    if (call.operation !== 'read' && call.operation !== 'readInto') return call.proceed();
    this.#onChange((this.#underWay += 1));
    try {
      return await call.proceed();
    } finally {
      this.#onChange((this.#underWay -= 1));
    }
  }
}
