import { ThrottleDriver, type ThrottleDriverOptions } from '@tiered/core/decorators';
import { ManualClock } from '@tiered/core/testing';
import { listSequence, Prefetcher, type PrefetcherOptions } from '@tiered/prefetch';
import type { Autotuner } from '@tiered/prefetch/autotuner';
import { expect, it } from 'vitest';
import { keys, objects, started } from '../helpers.js';

const SIZE = 10_000;
const COUNT = 200;

/** Profiles a loader whose consumer computes so many milliseconds a sample. */
async function profiled(
  source: Omit<ThrottleDriverOptions, 'clock'>,
  computeMs: number,
  options: PrefetcherOptions,
  readsAtOnce?: number,
) {
  const clock = new ManualClock();
  const slow = new ThrottleDriver(await objects(Array.from({ length: COUNT }, () => SIZE)), {
    ...source,
    clock,
  });
  Object.assign(slow, { capabilities: { ...slow.capabilities, readsAtOnce } });
  const hierarchy = await clock.run(started(slow, { scan: true, clock }));
  const prefetcher = new Prefetcher(hierarchy, listSequence(keys(COUNT)), {
    clock,
    autotuner: false,
    ...options,
  });
  const consume = async () => {
    for await (const sample of prefetcher) {
      expect(sample.data.byteLength).toBe(SIZE);
      if (computeMs > 0) await clock.sleep(computeMs);
    }
  };
  await clock.run(consume());
  const profile = prefetcher.profile();
  await clock.run(hierarchy.close());
  return profile;
}

it('[P10] a consumer that computes longer than reads take is the limit', async () => {
  const profile = await profiled({ latencyMs: 10 }, 10, { producers: 4 });
  expect(profile.verdict.limit).toBe('consumer');
  expect(profile.starved).toBeLessThan(0.05);
});

it('[P10] reads that wait for the source make it the limit, whatever there is to say of others', async () => {
  const profile = await profiled({ latencyMs: 10 }, 0, { producers: 4 });
  expect(profile.verdict.limit).toBe('source');
  expect(profile.readMs.p50).toBeCloseTo(10, 1);
  expect(profile.busyProducers).toBeGreaterThan(3.5);
});

it('[P10] reads that queue for a link are its bandwidth', async () => {
  const profile = await profiled({ latencyMs: 1, bytesPerSecond: 1e6 }, 0, { producers: 8 });
  expect(profile.verdict.limit).toBe('source bandwidth');
  expect(profile.bytes / profile.seconds / 1e6).toBeCloseTo(1, 1);
});

it('[P10] large numbers of reads are written as reports write counts', async () => {
  const profile = await profiled({ latencyMs: 0.05, bytesPerSecond: 2e7 }, 0, { producers: 8 });
  expect(profile.verdict.text).toMatch(/ in [12],\d{3} reads\/s,/);
});

it('[P10] reads that wait for the few that a driver makes at a time are its threads, and not its bandwidth', async () => {
  const few = { latencyMs: 10, concurrency: 4 };
  const { verdict, limits } = await profiled(few, 0, { producers: 12 }, 4);
  expect(verdict).toMatchObject({ limit: 'source threads', text: expect.stringMatching(/only 4 at a time/) });
  expect(limits.readsAtOnce).toBe(4);
  const enough = await profiled(few, 0, { producers: 4 }, 4);
  expect(enough.verdict.limit).toBe('source');
  const boundless = await profiled(few, 0, { producers: 12 });
  expect(boundless.verdict.limit).not.toBe('source threads');
  expect(boundless.limits.readsAtOnce).toBe(Infinity);
});

it('[P10] who is to allow more reads is told of the driver too, if it makes no more', async () => {
  const later = { tuning: { producers: 8, memoryBytes: 1e6, samples: Infinity }, nextInMs: undefined };
  const first = { tuning: { ...later.tuning, producers: 2 }, nextInMs: 200 };
  const autotuner: Autotuner = {
    name: 'two steps',
    begin: () => ({ ...first, reason: 'few' }),
    decide: () => ({ ...later, reason: 'many' }),
  };
  const options = { concurrency: 8, autotuner };
  const { verdict } = await profiled({ latencyMs: 10 }, 0, options, 8);
  expect(verdict.limit).toBe('source latency');
  expect(verdict.text).toContain('raise concurrency, and the 8 reads that the driver makes at a time');
  const boundless = await profiled({ latencyMs: 10 }, 0, options, 100);
  expect(boundless.verdict.text).toContain('raise concurrency)');
});

it('[P10] producers that stand still while consumers wait have too little memory', async () => {
  const clock = new ManualClock();
  const slow = new ThrottleDriver(await objects(Array.from({ length: COUNT }, () => SIZE)), {
    latencyMs: 10,
    clock,
  });
  const hierarchy = await clock.run(started(slow, { scan: true, clock }));
  const options = { clock, autotuner: false as const, producers: 8, memory: 2 * SIZE };
  const prefetcher = new Prefetcher(hierarchy, listSequence(keys(COUNT)), options);
  const consume = async () => {
    for await (const batch of prefetcher.batches(2)) await clock.sleep(batch.length);
  };
  await clock.run(consume());
  expect(prefetcher.profile()).toMatchObject({
    verdict: { limit: 'memory' },
    producerWaits: expect.any(Number),
  });
  expect(prefetcher.profile().producerWaits).toBeGreaterThan(10);
  await clock.run(hierarchy.close());
});

it('[P10] says so if it has seen too little', async () => {
  const clock = new ManualClock();
  const hierarchy = await clock.run(started(await objects([1]), { clock }));
  const prefetcher = new Prefetcher(hierarchy, listSequence(['0']), { clock });
  expect(prefetcher.profile().verdict.limit).toBe('unknown');
  await prefetcher.close();
  await clock.run(hierarchy.close());
});

it('[P10] tells which level served the reads', async () => {
  const profile = await profiled({ latencyMs: 1 }, 0, { producers: 2 });
  expect(profile).toMatchObject({
    levels: [{ reads: COUNT, bytes: COUNT * SIZE }],
    consumerWaits: expect.any(Number),
  });
});
