import { Hierarchy, isTieredError, MemoryDriver, Random, type StorageDriver } from '@tiered/core';
import { ThrottleDriver } from '@tiered/core/decorators';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import { ManualClock, someBytes } from '@tiered/core/testing';
import {
  calibrate,
  fetchModelOf,
  initialProducersOf,
  parseProfile,
  placementConcurrencyOf,
  systemOf,
  unsteadyIn,
} from '@tiered/simulator/calibration';
import { throughput } from '@tiered/simulator/model';
import { PlacementHandler } from '@tiered/tiering';
import { describe, expect, it } from 'vitest';

const BYTES = 100_000;

/**
 * A source of 50 objects behind 10 ms and 100 MB/s, and a tier behind 1 ms and 400 MB/s, both on a clock of
 * their own.
 */
async function storage() {
  const clock = new ManualClock();
  const memory = new MemoryDriver();
  for (let i = 0; i < 50; i++) await memory.write(`${i}`, someBytes(BYTES, i), { size: BYTES });
  const behind = (driver: StorageDriver, latencyMs: number, bytesPerSecond: number) =>
    new ThrottleDriver(driver, { latencyMs, bytesPerSecond, clock });
  const source = behind(memory, 10, 100e6);
  const kept = new MemoryDriver();
  const tier = { driver: behind(kept, 1, 400e6), quota: 64 * BYTES };
  return { clock, source, tier, kept };
}

describe('a calibration', () => {
  it('finds latency and bandwidth of source and tiers at rising concurrency, within 10 %', async () => {
    const { clock, source, tier, kept } = await storage();
    const seen: number[] = [];
    const profile = await clock.run(
      calibrate(
        { source, tiers: [tier] },
        { clock, concurrencies: [1, 4, 16], onProgress: (done, total) => seen.push(done / total) },
      ),
    );
    expect(profile.objectBytes).toBe(BYTES);
    // One at a time: latency and transfer. At 16 the link is the limit.
    for (const [many, rate] of [
      [1, 0.1 / 0.011],
      [4, 0.4 / 0.011],
      [16, 100],
    ] as const)
      expect(throughput(profile.source.read, many) / rate).toBeCloseTo(1, 0.7);
    const [first] = profile.tiers;
    expect(first?.read.points.at(-1)?.[1]).toBeGreaterThan(360);
    expect(first?.write?.points.at(-1)?.[1]).toBeGreaterThan(300);
    // 50 objects on a link of 1 ms each, with the latency before the first of them.
    expect(first?.place?.points.at(-1)?.[1]).toBeGreaterThan(70);
    expect(seen.at(-1)).toBe(1);
    expect(await kept.usage({}), 'left on the tier').toMatchObject({ objects: 0 });
  });

  it('reads in pieces if the loader does, and fetches whole objects where it fills a tier', async () => {
    const { clock, source, tier } = await storage();
    const profile = await clock.run(
      calibrate({ source, tiers: [tier] }, { clock, concurrencies: [1], readBytes: BYTES / 10 }),
    );
    const at1 = (curve?: { points: [number, number][] }) => curve?.points[0]?.[1] ?? Number.NaN;
    expect(at1(profile.source.read)).toBeCloseTo(0.01 / 0.0101, 1);
    expect(at1(profile.tiers[0]?.read)).toBeCloseTo(0.01 / 0.001025, 0);
    expect(at1(profile.tiers[0]?.place)).toBeGreaterThan(5 * at1(profile.source.read));
    await expect(calibrate({ source }, { clock, readBytes: 'some' })).rejects.toSatisfy(isConfigError);
  });

  it('measures what a sample takes to preprocess and to train on', async () => {
    const { clock, source } = await storage();
    const profile = await clock.run(
      calibrate(
        { source },
        { clock, concurrencies: [1], compute: () => clock.sleep(5), preprocess: () => clock.sleep(2) },
      ),
    );
    expect(profile.computeMBps).toBeCloseTo(20, 0);
    expect(profile.preprocessMBps).toBeCloseTo(50, 0);
  });

  it('keeps to its time and bytes, but for two rounds', async () => {
    const { clock, source, tier } = await storage();
    const start = clock.now();
    await clock.run(
      calibrate({ source, tiers: [tier] }, { clock, seconds: 3, bytes: '1GiB', concurrencies: [1, 2] }),
    );
    expect(clock.now() - start).toBeLessThan(3500);
    const before = clock.now();
    await clock.run(calibrate({ source }, { clock, seconds: 1e6, bytes: 10 * BYTES, concurrencies: [1] }));
    expect(clock.now() - before, 'of 10 objects at 11 ms, and a listing').toBeLessThan(200);
  });

  it('takes objects that a tier has room for, and keeps to half of its quota', async () => {
    const clock = new ManualClock();
    const [source, kept] = [new MemoryDriver(), new MemoryDriver()];
    for (let i = 0; i < 20; i++) {
      const size = i < 10 ? 200_000 : 2_000_000;
      await source.write(`${i}`, someBytes(size, i), { size });
    }
    let most = 0;
    const watched = new (class extends InterceptingDriver {
      protected async intercept<T>(call: DriverCall<T>): Promise<T> {
        const result = await call.proceed();
        if (call.operation !== 'usage') most = Math.max(most, (await kept.usage({})).bytes);
        return result;
      }
    })(kept);
    const tiers = [{ driver: new ThrottleDriver(watched, { latencyMs: 1, clock }), quota: '2MiB' }];
    const profile = await clock.run(calibrate({ source, tiers }, { clock, seconds: 1, concurrencies: [1] }));
    expect(profile.tiers[0]?.place?.points[0]?.[1]).toBeGreaterThan(0);
    expect(most).toBeGreaterThan(200_000);
    expect(most).toBeLessThanOrEqual(2 ** 20);
  });

  it('that is aborted, or fails, leaves nothing on the tiers', async () => {
    const { clock, source, tier, kept } = await storage();
    const stop = new AbortController();
    const reason = new Error('enough');
    const onProgress = (done: number) => {
      if (done === 4) stop.abort(reason);
    };
    const calibrating = calibrate(
      { source, tiers: [tier] },
      { clock, concurrencies: [1, 2], signal: stop.signal, onProgress },
    );
    await expect(clock.run(calibrating)).rejects.toBe(reason);
    expect(await kept.usage({})).toMatchObject({ objects: 0 });
  });

  it('refuses what cannot work', async () => {
    const { clock, source, tier } = await storage();
    for (const wrong of [{ seconds: 0 }, { concurrencies: [] }, { concurrencies: [2, 2] }, { bytes: 'many' }])
      await expect(calibrate({ source }, { clock, ...wrong })).rejects.toSatisfy(isConfigError);
    await expect(calibrate({ source: new MemoryDriver() }, { clock })).rejects.toSatisfy(isConfigError);
    const tight = { ...tier, quota: BYTES };
    await expect(
      clock.run(calibrate({ source, tiers: [tight] }, { clock, concurrencies: [1] })),
    ).rejects.toSatisfy(isConfigError);
  });
});

describe('a machine that others use', () => {
  /** A source of which every third read, or so, waits for something else. */
  class Disturbed extends InterceptingDriver {
    readonly #random = new Random(3);
    readonly clock: ManualClock;
    readonly mostMs: number;

    constructor(inner: StorageDriver, clock: ManualClock, mostMs: number) {
      super(inner);
      this.clock = clock;
      this.mostMs = mostMs;
    }

    protected async intercept<T>(call: DriverCall<T>): Promise<T> {
      if (this.#random.below(3) === 0)
        await this.clock.sleep(this.#random.below(this.mostMs + 1), call.signal);
      return call.proceed();
    }
  }

  it('shows in the profile and in a warning, and one bad try does not show in the curve', async () => {
    const measured = async (mostMs: number) => {
      const { clock, source } = await storage();
      const disturbed = new Disturbed(source, clock, mostMs);
      const options = { clock, concurrencies: [1, 4], seconds: 1, bytes: 100 * BYTES };
      return clock.run(calibrate({ source: disturbed }, options));
    };
    const quiet = await measured(0);
    expect(quiet.source.spread?.read).toBeCloseTo(1, 1);
    expect(unsteadyIn(quiet)).toEqual([]);
    const busy = await measured(1000);
    expect(busy.source.spread?.read).toBeGreaterThan(1.5);
    expect(unsteadyIn(parseProfile(JSON.parse(JSON.stringify(busy))))).toEqual([
      expect.stringMatching(/one try at "read" was [\d.]+ times as fast as another\./),
    ]);
  });

  it('is not said of profiles that were made before', () => {
    const curve = { points: [[1, 10] as [number, number]] };
    expect(unsteadyIn({ version: 1, objectBytes: 1, source: { name: 'x', read: curve }, tiers: [] })).toEqual(
      [],
    );
  });
});

describe('a profile', () => {
  const profile = {
    version: 1,
    objectBytes: BYTES,
    source: { name: 'pfs', read: { points: [[1, 10] as [number, number], [4, 40] as [number, number]] } },
    tiers: [{ name: 'ssd', read: { points: [[1, 50] as [number, number], [2, 60] as [number, number]] } }],
  } as const;

  it('is read back from JSON, and refused where it was changed', () => {
    const text = JSON.stringify(profile);
    expect(parseProfile(JSON.parse(text))).toEqual(profile);
    for (const wrong of [
      {},
      { ...profile, version: 2 },
      { ...profile, source: { name: 'x', read: { points: [] } } },
      {
        ...profile,
        source: {
          name: 'x',
          read: {
            points: [
              [4, 40],
              [1, 10],
            ],
          },
        },
      },
    ])
      expect(() => parseProfile(wrong)).toThrow(expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' }));
  });

  it('makes the hierarchy read from the source what would queue at a tier', async () => {
    const model = fetchModelOf(parseProfile(profile));
    expect(model.fetchMs(0, 1e6, 1)).toBeCloseTo(20);
    expect(model.fetchMs(0, 1e6, 8)).toBeCloseTo((1000 * 8) / 60);
    expect(model.fetchMs(1, 1e6, 1)).toBeCloseTo(100);
    const source = new MemoryDriver();
    await source.write('a', someBytes(1000, 1), { size: 1000 });
    const hierarchy = await new Hierarchy({
      source,
      tiers: [{ driver: new MemoryDriver(), quota: '1MiB' }],
      placement: new PlacementHandler(),
      model,
    }).open();
    await hierarchy.place('a');
    await Promise.all(Array.from({ length: 16 }, () => hierarchy.read('a')));
    expect(hierarchy.stats().tiers[0]?.reads).toBeLessThan(16);
    expect(hierarchy.stats().tiers[0]?.reads).toBeGreaterThan(0);
    await hierarchy.close();
  });

  it('tells with how many producers to begin: the fewest that give nearly the most', () => {
    const of = (...points: [number, number][]) =>
      initialProducersOf(parseProfile({ ...profile, source: { name: 'x', read: { points } } }));
    expect(of([1, 10], [4, 40], [8, 60], [16, 61], [32, 50])).toBe(8);
    expect(of([2, 10])).toBe(2);
  });

  it('tells how many requests fill tiers: as many as the tier that needs most', () => {
    const of = (...places: ([number, number][] | undefined)[]) => {
      const tiers = places.map((points) => ({ ...profile.tiers[0], ...(points && { place: { points } }) }));
      return placementConcurrencyOf(parseProfile({ ...profile, tiers }));
    };
    expect(
      of([
        [1, 10],
        [4, 40],
        [8, 41],
      ]),
    ).toBe(4);
    expect(
      of(
        [
          [1, 10],
          [4, 10],
        ],
        undefined,
        [
          [1, 10],
          [2, 30],
          [8, 90],
        ],
      ),
    ).toBe(8);
    expect(of(undefined)).toBeUndefined();
    expect(of()).toBeUndefined();
  });

  it('is a system for the simulator, with what it does not know', () => {
    const rest = {
      workers: 4,
      networkMBps: 1000,
      staging: { name: 'staging', capacityMB: 1000, threads: 2, read: { points: [[1, 1000] as const] } },
      tiers: [{ capacityMB: 5000, threads: 2 }],
      computeMBps: 100,
    };
    const system = systemOf({ ...parseProfile(profile), preprocessMBps: 200 }, rest);
    expect(system).toMatchObject({ workers: 4, computeMBps: 100, preprocessMBps: 200 });
    expect(system.levels).toMatchObject([{ name: 'ssd', capacityMB: 5000, threads: 2 }]);
    // Of one worker, who makes two reads at a time; measured were 1 and 4 reads.
    expect(throughput(system.source, 1)).toBeCloseTo(20);
    expect(throughput(system.source, 4)).toBeCloseTo(40);
    expect(() => systemOf(parseProfile(profile), rest)).toThrow(/preprocessMBps/);
    expect(() => systemOf(parseProfile(profile), { ...rest, tiers: [] })).toThrow(/tiers/);
  });
});

function isConfigError(error: unknown): boolean {
  return isTieredError(error, 'TIERED_CONFIG_INVALID');
}
