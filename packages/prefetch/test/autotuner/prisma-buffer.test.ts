import { ThrottleDriver } from '@tiered/core/decorators';
import { ManualClock, ticked } from '@tiered/core/testing';
import { listSequence, Prefetcher, StagingBuffer } from '@tiered/prefetch';
import { prismaAutotuner, type TuningEvent } from '@tiered/prefetch/autotuner';
import { expect, it } from 'vitest';
import { keys, objects, over } from '../helpers.js';

const READ_MS = 10;
const MOST_PRODUCERS = 8;

/** The longest that Algorithm 1 may take to end, in milliseconds of the clock. */
const PATIENCE_MS = 4000;

/**
 * Tunes a real buffer by Algorithm 1. Each of its prefetchers has a consumer, which takes samples at a rate
 * (samples a second). Returns the decisions.
 */
async function tunedBy(rates: readonly number[]): Promise<readonly TuningEvent[]> {
  const clock = new ManualClock(ticked);
  const driver = new ThrottleDriver(await objects(Array.from({ length: 16 }, () => 1000)), {
    latencyMs: READ_MS,
    clock,
  });
  const hierarchy = await clock.run(over(driver, { clock }));
  const autotuner = prismaAutotuner({ initialIntervalMs: 300 });
  const staging = new StagingBuffer({ concurrency: MOST_PRODUCERS, autotuner, clock });
  const events: TuningEvent[] = [];
  staging.on('tuned', (event) => events.push(event));
  const stop = new AbortController();
  const consuming = rates.map(async (rate) => {
    const accesses = listSequence(keys(16), { epochs: 1000 });
    await using prefetcher = new Prefetcher(hierarchy, accesses, { staging, clock });
    for await (const sample of prefetcher) {
      sample.release();
      await clock.sleep(1000 / rate, stop.signal).catch(() => undefined);
      if (stop.signal.aborted) break;
    }
  });
  const isOver = () => events.at(-1)?.decision.nextInMs === undefined;
  while (clock.now() < PATIENCE_MS && (events.length === 0 || !isOver())) await clock.advance(1);
  stop.abort();
  await clock.run(Promise.all(consuming));
  return events;
}

it.each([
  ['one prefetcher', [125]],
  ['two that need as much together', [62.5, 62.5]],
  ['two of which one needs more', [100, 25]],
  ['four', [31.25, 31.25, 31.25, 31.25]],
])('[P9] Algorithm 1 settles where the buffer is full, however many share it: %s', async (_, rates) => {
  const events = await tunedBy(rates);
  const { decision } = events.at(-1) as TuningEvent;
  expect(decision.reason).toContain('which is the optimum');
  // Two read 200 samples a second. While the buffer fills, its usage may look steady, which adds one or two.
  expect(decision.tuning.producers).toBeGreaterThanOrEqual(2);
  expect(decision.tuning.producers).toBeLessThanOrEqual(4);
});
