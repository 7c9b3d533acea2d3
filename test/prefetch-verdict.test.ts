import { Hierarchy, MemoryDriver, Random, type StorageDriver } from '@tiered/core';
import { ThrottleDriver, type ThrottleDriverOptions } from '@tiered/core/decorators';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import { ManualClock } from '@tiered/core/testing';
import { shuffledSequence, Prefetcher, type PrefetcherOptions } from '@tiered/prefetch';
import { PlacementHandler, type PlacementHandlerOptions } from '@tiered/tiering';
import { describe, expect, it } from 'vitest';

const COUNT = 800;
const SIZE = 10_000;
const ALL = 2 * COUNT * SIZE;
/** Room for what is read ahead: a part of an epoch. */
const STAGING = { memory: 200 * SIZE, concurrency: 24 };

type Throttle = Omit<ThrottleDriverOptions, 'clock'>;

interface Level extends Throttle {
  /** Each call waits for so many milliseconds more in the mean, some hardly, some much longer. */
  readonly jitterMs?: number;
  readonly seed?: number;
}

interface Loading {
  readonly source: Level;
  readonly tier?: Level & { readonly quota: number };
  readonly placement?: PlacementHandlerOptions;
  readonly epochs?: number;
  /** Whether everything is on the tier before the first epoch. */
  readonly isFilled?: boolean;
  readonly options?: PrefetcherOptions;
  /** Milliseconds that the consumer computes on each sample, from the second epoch on. */
  readonly computeMs?: number;
}

/** Waits for random times, which no other call has to do with. */
class JitterDriver extends InterceptingDriver {
  readonly #meanMs: number;
  readonly #clock: ManualClock;
  readonly #random: Random;

  constructor(inner: StorageDriver, meanMs: number, seed: number, clock: ManualClock) {
    super(inner);
    this.#meanMs = meanMs;
    this.#random = new Random(seed);
    this.#clock = clock;
  }

  protected async intercept<T>(call: DriverCall<T>): Promise<T> {
    const unit = 1 - this.#random.unit();
    await this.#clock.sleep(-this.#meanMs * Math.log(unit), call.signal);
    return call.proceed();
  }
}

/** What is said of a loader, in the end and of each epoch. */
async function profiled(loading: Loading) {
  const { source, tier, placement, isFilled = false, epochs = 1, options, computeMs = 0 } = loading;
  const clock = new ManualClock();
  const as = (inner: StorageDriver, { jitterMs = 0, seed = 7, ...throttle }: Level) => {
    const slow = new ThrottleDriver(inner, { ...throttle, clock });
    return jitterMs === 0 ? slow : new JitterDriver(slow, jitterMs, seed, clock);
  };
  const memory = new MemoryDriver();
  const keys = Array.from({ length: COUNT }, (_, i) => `${i}`);
  for (const key of keys) await memory.write(key, new Uint8Array(SIZE), { size: SIZE });
  const hierarchy = new Hierarchy({
    source: as(memory, source),
    ...(tier && {
      tiers: [{ driver: as(new MemoryDriver(), { ...tier }), quota: tier.quota, readDeadlineMs: 1e6 }],
      placement: new PlacementHandler({ chunk: SIZE, ...placement }),
    }),
    clock,
  });
  await clock.run(hierarchy.open());
  if (isFilled) await clock.run(Promise.all(keys.map((key) => hierarchy.place(key))));
  const prefetcher = new Prefetcher(hierarchy, shuffledSequence(keys, { seed: 1, epochs }), {
    clock,
    ...STAGING,
    ...options,
  });
  const consume = async () => {
    for await (const { data, epoch } of prefetcher) {
      expect(data.byteLength).toBe(SIZE);
      if (epoch > 0) clock.pass(computeMs);
    }
  };
  await clock.run(consume());
  const profile = prefetcher.profile();
  await clock.run(hierarchy.close());
  return profile;
}

describe('[P10] what limits a loader of a slow source', () => {
  it.each<[string, Level, string]>([
    ['that answers late', { latencyMs: 500 }, 'source latency'],
    ['that answers late and unequally', { latencyMs: 10, jitterMs: 500 }, 'source latency'],
    ['of little bandwidth', { latencyMs: 10, bytesPerSecond: 100 * SIZE }, 'source bandwidth'],
    ['of little bandwidth, unequally', { jitterMs: 50, bytesPerSecond: 50 * SIZE }, 'source bandwidth'],
    ['of few operations at a time', { latencyMs: 100, concurrency: 4 }, 'source bandwidth'],
  ])('%s', async (_, source, limit) => {
    const { verdict, readMs } = await profiled({ source, epochs: 4 });
    expect(verdict.limit, verdict.text).toBe(limit);
    // As unequal as reads that queue: that alone says nothing.
    if (source.jitterMs === 500) expect(readMs.p50).toBeGreaterThan(2.5 * readMs.p1);
  });

  it('is not said more exactly than it was seen', async () => {
    const options = { producers: 8 };
    const { verdict } = await profiled({ source: { latencyMs: 500 }, options });
    expect(verdict).toMatchObject({ limit: 'source', text: expect.stringContaining('nobody can say') });
    for (let seed = 0; seed < 5; seed++) {
      const unequal = await profiled({ source: { jitterMs: 500, seed }, options });
      expect(['source', 'source latency'], unequal.verdict.text).toContain(unequal.verdict.limit);
      const narrow = await profiled({ source: { jitterMs: 50, seed, bytesPerSecond: 50 * SIZE }, options });
      expect(['source', 'source bandwidth'], narrow.verdict.text).toContain(narrow.verdict.limit);
    }
  });
});

describe('[P10] what limits a loader that reads a tier beside its source', () => {
  const half = { quota: ALL / 4 };

  it.each<[string, Level, string]>([
    ['late', { latencyMs: 500 }, 'source latency'],
    ['unequal', { latencyMs: 10, jitterMs: 500 }, 'source latency'],
    ['narrow', { latencyMs: 10, bytesPerSecond: 100 * SIZE }, 'source bandwidth'],
    ['bounded in operations', { latencyMs: 100, concurrency: 4 }, 'source bandwidth'],
  ])('a source that is %s', async (_, source, limit) => {
    const { verdict, epochs } = await profiled({ source, tier: half, epochs: 3 });
    expect(verdict, verdict.text).toMatchObject({ limit, tiers: 'full' });
    expect(verdict.text).toMatch(/gives (4[5-9]|5[0-5]) % of the samples/);
    const { places = [], levels } = epochs.at(-1) ?? {};
    expect(places.map(({ level }) => level)).toEqual([undefined, 0]);
    expect(places[1]?.samples).toBe(levels?.[0]?.reads);
    // Reads that began in the epoch before have ended in this one.
    expect(places[0]?.samples).toBeGreaterThanOrEqual(levels?.[1]?.reads ?? Infinity);
  });

  it('is said of the source with the figures of the source', async () => {
    const source = { latencyMs: 10, bytesPerSecond: 100 * SIZE };
    const { verdict } = await profiled({ source, tier: half, epochs: 3 });
    // Twice as many samples came in that time.
    const [, kibibytes = '', reads = ''] = /gives ([\d.]+) KiB\/s in (\d+) reads\/s/.exec(verdict.text) ?? [];
    expect(Number(kibibytes) / 976.6).toBeCloseTo(1, 0.7);
    expect(Number(reads) / 100).toBeCloseTo(1, 0.7);
  });

  it.each<[string, Level, string]>([
    ['late', { latencyMs: 500 }, 'tier latency'],
    ['unequal', { latencyMs: 10, jitterMs: 500 }, 'tier latency'],
    ['narrow', { latencyMs: 10, bytesPerSecond: 100 * SIZE }, 'tier bandwidth'],
  ])('a tier that is %s', async (_, slow, limit) => {
    const { verdict } = await profiled({
      source: {},
      tier: { ...slow, quota: ALL },
      isFilled: true,
      epochs: 3,
    });
    expect(verdict, verdict.text).toMatchObject({ limit, level: 0 });
  });
});

describe('[P10] why tiers do not take the place of the source', () => {
  const source = { latencyMs: 100 };

  it('is said of tiers that have no room, and not of those that have', async () => {
    const roomy = await profiled({ source, tier: { quota: ALL } });
    expect(roomy.verdict.limit).toMatch(/^source/);
    expect(roomy.verdict.tiers).toBeUndefined();
    const full = await profiled({ source, tier: { quota: ALL / 8 } });
    expect(full.verdict).toMatchObject({ tiers: 'full', text: expect.stringContaining('No tier had room') });
  });

  it('is said of tiers that are slower to write than the source is to read', async () => {
    const tier = { bytesPerSecond: 10 * SIZE, quota: ALL };
    const memory = 40 * SIZE;
    const waiting = await profiled({ source, tier, placement: { memory } });
    expect(waiting.verdict, waiting.verdict.text).toMatchObject({ limit: 'tier writes', tiers: 'slow' });
    const goingOn = await profiled({ source, tier, placement: { memory, whenBehind: 'goOn' } });
    expect(goingOn.verdict.limit).toMatch(/^source/);
    expect(goingOn.verdict).toMatchObject({ tiers: 'slow', text: expect.stringContaining('cannot keep up') });
    // Memory that is full of what the source has yet to give is none that tiers do not take.
    const slowSource = await profiled({ source, tier: { quota: ALL }, placement: { memory: 2 * SIZE } });
    expect(slowSource.verdict.limit).toMatch(/^source/);
  });
});

it('[P10] each epoch has a verdict of its own', async () => {
  const { verdict, epochs } = await profiled({
    source: { latencyMs: 500 },
    tier: { quota: ALL },
    epochs: 3,
    computeMs: 10,
  });
  expect(epochs.map(({ epoch }) => epoch)).toEqual([0, 1, 2]);
  expect(epochs[0]?.verdict.limit).not.toBe('consumer');
  expect(epochs.slice(1).map((one) => one.verdict.limit)).toEqual(['consumer', 'consumer']);
  expect(verdict.limit).toBe('consumer');
  for (const { samples, bytes } of epochs)
    expect({ samples, bytes }).toEqual({ samples: COUNT, bytes: COUNT * SIZE });
  expect(epochs.map(({ levels }) => levels.at(-1)?.reads)).toEqual([COUNT, 0, 0]);
});
