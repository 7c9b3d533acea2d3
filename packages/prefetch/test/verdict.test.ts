import { ThrottleDriver, type Hierarchy, type ThrottleDriverOptions } from '@tiered/core';
import { ManualClock } from '@tiered/core/testing';
import {
  listSequence,
  Prefetcher,
  type PrefetcherOptions,
  type SampleSource,
  type Verdict,
} from '@tiered/prefetch';
import { expect, it } from 'vitest';
import { keys, objects, started } from './helpers.js';

const SIZE = 10_000;
const COUNT = 200;

/** Profiles a loader whose consumer computes so many milliseconds a sample. */
async function profiled(
  source: Omit<ThrottleDriverOptions, 'clock'>,
  computeMs: number,
  options: PrefetcherOptions,
  through: (hierarchy: Hierarchy) => ConstructorParameters<typeof Prefetcher>[0] = (hierarchy) => hierarchy,
) {
  const clock = new ManualClock();
  const slow = new ThrottleDriver(await objects(Array.from({ length: COUNT }, () => SIZE)), {
    ...source,
    clock,
  });
  const hierarchy = await clock.run(started(slow, { scan: true, clock }));
  const prefetcher = new Prefetcher(through(hierarchy), listSequence(keys(COUNT)), {
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

it('[P10] reads that wait one by one for the source are its latency', async () => {
  const profile = await profiled({ latencyMs: 10 }, 0, { producers: 4 });
  expect(profile.verdict.limit).toBe('source latency');
  expect(profile.readMs.p50).toBeCloseTo(10, 1);
  expect(profile.busyProducers).toBeGreaterThan(3.5);
});

it('[P10] reads that queue for a link are its bandwidth', async () => {
  const profile = await profiled({ latencyMs: 1, bytesPerSecond: 1e6 }, 0, { producers: 8 });
  expect(profile.verdict.limit).toBe('source bandwidth');
  expect(profile.bytes / profile.seconds / 1e6).toBeCloseTo(1, 1);
});

it('[P10] producers that stand still while consumers wait have too little memory', async () => {
  const clock = new ManualClock();
  const slow = new ThrottleDriver(await objects(Array.from({ length: COUNT }, () => SIZE)), {
    latencyMs: 10,
    clock,
  });
  const hierarchy = await clock.run(started(slow, { scan: true, clock }));
  const options = { clock, autotuner: false as const, producers: 8, budget: 2 * SIZE };
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

/** What a placement tells of reads whose objects it did not place: nothing of the second kind, if it does not know it. */
interface Told {
  readonly declined: number;
  readonly behind?: number;
}

/** A hierarchy with tiers whose placement told the first when the prefetcher was made, and tells the second now. */
function telling(first: Told, second: Told) {
  let looks = 0;
  return (hierarchy: Hierarchy): SampleSource & Pick<Hierarchy, 'stats'> => ({
    namespace: hierarchy.namespace,
    stat: (key, options) => hierarchy.stat(key, options),
    readInto: (key, target, options) => hierarchy.readInto(key, target, options),
    stats: () => {
      const stats = hierarchy.stats();
      looks += 1;
      return { ...stats, placement: { ...stats.placement, ...(looks === 1 ? first : second) } };
    },
  });
}

const none = { declined: 0 };
const KEEPS_UP = /The tier cannot keep up with the source: its writes limit how fast it fills\./;
const NO_ROOM = /No tier had room/;

it.each<[string, Told, Told, Verdict['tiers'], RegExp | undefined]>([
  ['reads whose objects come later', none, { declined: 3, behind: 150 }, 'slow', KEEPS_UP],
  ['reads whose objects had no room', none, { declined: 150, behind: 3 }, 'full', NO_ROOM],
  ['reads whose objects had no room, and of no others', none, { declined: 150 }, 'full', NO_ROOM],
  ['few of either', none, { declined: 19, behind: 19 }, undefined, undefined],
  ['none of either', none, { declined: 0, behind: 0 }, undefined, undefined],
  [
    'many, but before it was made',
    { declined: 150, behind: 150 },
    { declined: 150, behind: 151 },
    undefined,
    undefined,
  ],
])('[P10] why tiers do not take the place of the source: %s', async (_, first, second, tiers, text) => {
  for (const source of [{ latencyMs: 10 }, { latencyMs: 1, bytesPerSecond: 1e6 }]) {
    const { verdict } = await profiled(source, 0, { producers: 8 }, telling(first, second));
    expect(verdict.limit).toMatch(/^source/);
    expect(verdict.tiers).toBe(tiers);
    for (const why of [KEEPS_UP, NO_ROOM]) {
      if (why === text) expect(verdict.text).toMatch(why);
      else expect(verdict.text).not.toMatch(why);
    }
    if (text !== undefined) expect(verdict.text).toContain('150 reads');
  }
});

it('[P10] tiers are no matter where computing is the limit', async () => {
  const told = telling(none, { declined: 0, behind: 150 });
  const { verdict } = await profiled({ latencyMs: 10 }, 10, { producers: 4 }, told);
  expect(verdict.limit).toBe('consumer');
  expect(verdict.tiers).toBeUndefined();
});
