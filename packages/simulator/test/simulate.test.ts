import { globalBatchSampler, type Sampler } from '@tiered/prefetch/sampling';
import { simulate, type Simulation } from '@tiered/simulator';
import { strategyNamed } from '@tiered/simulator/config';
import { ault, fetchFromSource, fetchLocal, sampleSizes, type SystemModel } from '@tiered/simulator/model';
import { Copies, noPfs, STRATEGIES, type Strategy } from '@tiered/simulator/strategies';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { avail, consumed, read, resultOf, scaled } from './helpers.js';

const sizesMB = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 60 });
const alone: SystemModel = { ...ault, workers: 1, staging: { ...ault.staging, threads: 1 } };

function setup(sizes: readonly number[], system: SystemModel = ault, epochs = 3): Simulation {
  return { dataset: { sizesMB: sizes }, system, epochs, batchSize: 8, seed: 7 };
}

describe('a simulation', () => {
  it('is the formulas of the paper to the letter for one thread and a buffer that holds all', async () => {
    await fc.assert(
      fc.asyncProperty(sizesMB, async (sizes) => {
        const system = { ...alone, staging: { ...alone.staging, capacityMB: 1e9 } };
        const sampler = globalBatchSampler({
          samples: sizes.length,
          epochs: 2,
          seed: 7,
          workers: 1,
          batchSize: 8,
        });
        const order = [0, 1].flatMap((epoch) =>
          [...sampler.epoch(0, epoch)].map((sample) => sizes[sample] ?? 0),
        );
        let before = { consumedAt: 0, sizeMB: 0 };
        const reads = order.map((mb) => read(system, mb, fetchFromSource(system, mb, 1)));
        for (const [f, sizeMB] of order.entries())
          before = { consumedAt: consumed(system, avail(system, reads.slice(0, f + 1)), before), sizeMB };
        const { seconds } = await resultOf(setup(sizes, system, 2), strategyNamed('staging-buffer'));
        expect(seconds).toBeCloseTo(before.consumedAt + before.sizeMB / system.computeMBps, 6);
      }),
    );
  });

  it('keeps to avail with several threads, to within a read', async () => {
    const levels = [{ ...ault.staging, name: 'ssd', read: { points: [[2, 86] as const] }, capacityMB: 1e9 }];
    const system = { ...ault, workers: 1, levels, computeMBps: 1e6, source: { points: [[1, 1e6] as const] } };
    // Everything is on the SSD from the start.
    const onSsd: Strategy = {
      name: 'on-ssd',
      start: (world) => {
        const copies = new Copies(world, false);
        for (let sample = 0; sample < world.sampler.samples; sample++) copies.put(0, sample, 0);
        return { copies };
      },
    };
    const slowSource = { ...system, source: { points: [[1, 1] as const] } };
    const sizes = Array.from({ length: 500 }, () => 10);
    const { seconds, sources } = await resultOf(setup(sizes, slowSource, 1), onSsd);
    const one = read(slowSource, 10, fetchLocal(10, slowSource.levels[0] ?? ault.staging));
    expect(
      Math.abs(
        seconds -
          avail(
            slowSource,
            sizes.map(() => one),
          ),
      ),
    ).toBeLessThanOrEqual(one);
    expect(sources.find(({ from }) => from === 'ssd')?.share).toBe(1);
  });

  it('never reads more from the source than all workers together can', async () => {
    for (const strategy of STRATEGIES) {
      const { refused, seconds, sources } = await resultOf(scaled('3', 200), strategy);
      if (refused !== undefined || strategy.name === 'perfect') continue;
      const megabytes = sources.find(({ from }) => from === 'source')?.megabytes ?? 0;
      expect(megabytes / seconds).toBeLessThanOrEqual(146 * 1.001);
    }
  });

  it('is never slower with a larger staging buffer', async () => {
    await fc.assert(
      fc.asyncProperty(sizesMB, fc.integer({ min: 50, max: 500 }), async (sizes, capacityMB) => {
        const of = (mb: number) =>
          resultOf(
            setup(sizes, { ...alone, staging: { ...alone.staging, capacityMB: mb } }),
            strategyNamed('staging-buffer'),
          );
        expect((await of(capacityMB * 2)).seconds).toBeLessThanOrEqual((await of(capacityMB)).seconds + 1e-9);
      }),
    );
  });

  it('places by NoPFS as first fit does with one worker', async () => {
    await fc.assert(
      fc.asyncProperty(sizesMB, fc.integer({ min: 50, max: 400 }), async (sizes, capacityMB) => {
        const levels = alone.levels.map((level) => ({ ...level, capacityMB }));
        const [a, b] = await simulate(setup(sizes, { ...alone, levels }), [
          noPfs(),
          strategyNamed('first-fit'),
        ]);
        expect({ ...a, strategy: '' }).toEqual({ ...b, strategy: '' });
      }),
    );
  });

  it('takes the time of placing for what is brought to a level, and of reading for the rest', async () => {
    const level = { name: 'ssd', capacityMB: 100, threads: 1, read: { points: [[1, 1000] as const] } };
    const system = {
      ...alone,
      computeMBps: 1e9,
      preprocessMBps: 1e9,
      staging: { ...alone.staging, read: { points: [[1, 1e9] as const] } },
      source: { points: [[1, 100] as const] },
      levels: [{ ...level, place: { points: [[1, 50] as const] } }],
    };
    // Half of 200 MB is brought at 50 MB/s, the other half read at 100 MB/s; then half is on the level.
    const sizes = Array.from({ length: 20 }, () => 10);
    for (const name of ['first-fit', 'nopfs']) {
      const { epochEnds } = await resultOf(setup(sizes, system, 2), strategyNamed(name));
      expect(epochEnds[0], name).toBeCloseTo(100 / 50 + 100 / 100, 5);
      expect(epochEnds[1], name).toBeCloseTo(3 + 100 / 100 + 100 / 1000, 5);
    }
    const { epochEnds } = await resultOf(setup(sizes, system, 2), strategyNamed('staging-buffer'));
    expect(epochEnds[0], 'brings nothing anywhere').toBeCloseTo(200 / 100, 5);
    // It drops copies and brings all of every epoch.
    const evicting = await resultOf(
      setup(sizes, { ...system, levels: system.levels }, 1),
      strategyNamed('lru'),
    );
    expect(evicting.epochEnds[0]).toBeCloseTo(200 / 50, 5);
  });

  it('lets a worker that is ahead of another believe in a copy that is not there yet', async () => {
    // Worker 0 reads sample 0 of 100 MB, and then sample 1 of 1 MB; worker 1 the other way round.
    const order = (worker: number, epoch: number) => Uint32Array.of((worker + epoch) % 2);
    const sampler: Sampler = {
      samples: 2,
      epochs: 2,
      workers: 2,
      epochLength: () => 1,
      epoch: order,
      at: (worker, epoch) => order(worker, epoch)[0] ?? 0,
    };
    const system: SystemModel = {
      ...alone,
      workers: 2,
      computeMBps: 1e9,
      preprocessMBps: 1e9,
      networkMBps: 1e9,
      staging: { ...alone.staging, read: { points: [[1, 1e9]] } },
      source: { points: [[2, 20]] },
      levels: [{ name: 'ram', capacityMB: 1000, threads: 1, read: { points: [[1, 1e9]] } }],
    };
    const simulation = { ...setup([100, 1], system, 2), sampler };
    const { seconds, misjudged, sources } = await resultOf(simulation, strategyNamed('deepio-ordered'));
    // Worker 1 is through with sample 1 after 0.1 s, and worker 0 brings sample 0 only after 10 s.
    expect(misjudged).toBe(1 / 4);
    expect(sources.find(({ from }) => from === 'source')?.megabytes).toBeCloseTo(201);
    expect(seconds).toBeCloseTo(10.1, 3);
    const staged = await resultOf(simulation, strategyNamed('lbann-preloading'));
    expect(staged.misjudged, 'what is there before the training').toBe(0);
  });

  it('misjudges hardly anything by progress, as the paper says', async () => {
    for (const [name, factor] of [
      ['2', 50],
      ['3', 200],
      ['5', 1],
    ] as const) {
      const { misjudged } = await resultOf(scaled(name, factor), noPfs());
      expect(misjudged, name).toBeLessThan(1e-3);
    }
    for (const strategy of ['first-fit', 'lru', 'staging-buffer', 'naive'])
      expect((await resultOf(scaled('2', 500), strategyNamed(strategy))).misjudged, strategy).toBe(0);
  });

  it('is the same for the same seed, and for strategies together as for each alone', async () => {
    const together = await simulate(scaled('3', 500), STRATEGIES);
    for (const [i, strategy] of STRATEGIES.entries())
      expect(await resultOf(scaled('3', 500), strategy)).toEqual(together[i]);
    const other = await resultOf(scaled('3', 500, { seed: 1 }), noPfs());
    expect(other.seconds).not.toBe(together.at(-1)?.seconds);
  });

  it('takes a sampler of the user', async () => {
    const sampler = globalBatchSampler({ samples: 3, epochs: 5, seed: 0, workers: 1, batchSize: 2 });
    const result = await resultOf({ ...setup([1, 2, 3], alone, 5), sampler }, strategyNamed('perfect'));
    expect(result.epochEnds.length).toBe(5);
    expect(result.seconds).toBeCloseTo((5 * 6) / 100);
  });

  it('tells its progress, and stops when it is told to', async () => {
    const seen: number[] = [];
    const abort = new AbortController();
    const running = simulate(setup([1, 2, 3]), [strategyNamed('naive')], {
      signal: abort.signal,
      onProgress: (done, total) => {
        seen.push(done / total);
        if (done === 2) abort.abort(new Error('enough'));
      },
    });
    await expect(running).rejects.toThrow('enough');
    expect(seen).toEqual([1 / 3, 2 / 3]);
  });
});

describe('strategies', () => {
  const by = async (name: string, simulation = scaled('3', 200)) => resultOf(simulation, strategyNamed(name));
  const share = (result: Awaited<ReturnType<typeof by>>, place: string) =>
    result.sources.find(({ from }) => from === place)?.share ?? 0;

  it('keep to their own disks in first fit and LRU, and to RAM where the paper says so', async () => {
    expect(share(await by('first-fit'), 'remote')).toBe(0);
    expect(share(await by('lru'), 'remote')).toBe(0);
    for (const name of ['deepio-ordered', 'locality-aware']) expect(share(await by(name), 'ssd')).toBe(0);
  });

  it('read the source for each byte once in epoch 0 at least, unless order gives way', async () => {
    for (const name of ['deepio-ordered', 'locality-aware', 'first-fit', 'lru', 'nopfs'])
      expect(share(await by(name), 'source')).toBeGreaterThanOrEqual(1 / 6 - 1e-9);
    expect(share(await by('deepio-opportunistic'), 'source')).toBeLessThan(0.07);
  });

  it('exchange samples among workers in locality-aware loading so that hardly any comes from another', async () => {
    const local = share(await by('locality-aware', scaled('2', 50)), 'ram');
    expect(local).toBeGreaterThan(0.75);
    expect(local).toBeGreaterThan(3 * share(await by('lbann-dynamic', scaled('2', 50)), 'ram'));
  });

  it('say which part of the accesses they do not make', async () => {
    // 600 of 1,529 GB fit, 200 of them in RAM.
    const [staged, deepio] = [
      await by('parallel-staging', scaled('4', 500)),
      await by('deepio-opportunistic', scaled('4', 500)),
    ];
    expect(staged.notCovered).toBeCloseTo(1 - 600 / 1529, 1);
    expect(deepio.notCovered).toBeCloseTo(1 - 200 / 1529, 1);
    expect((await by('nopfs', scaled('4', 500))).notCovered).toBe(0);
  });

  it('do not start where nothing fits', async () => {
    const tiny = scaled('5', 1, { epochs: 1 });
    const system = {
      ...tiny.system,
      levels: tiny.system.levels.map((level) => ({ ...level, capacityMB: 1 })),
    };
    for (const name of ['deepio-opportunistic', 'parallel-staging'])
      expect((await by(name, { ...tiny, system })).refused).toBeDefined();
  });
});

describe('sampleSizes', () => {
  const samples = 50_000;
  const mean = (sizes: Float64Array) => sizes.reduce((sum, size) => sum + size, 0) / sizes.length / 1e6;

  it('keeps the mean, also where the deviation is larger, and no size is below 0 or above twice the mean', () => {
    const sizes = sampleSizes({ samples, meanMB: 0.1077, sigmaMB: 0.2 }, 3);
    expect(Math.abs(mean(sizes) / 0.1077 - 1)).toBeLessThan(0.01);
    expect(sizes.every((size) => size >= 0 && size <= 2 * 107_700)).toBe(true);
  });

  it('has a higher mean where what is below 0 is drawn again or taken as 0', () => {
    const of = (truncate: 'redraw' | 'clamp') =>
      mean(sampleSizes({ samples, meanMB: 0.2937, sigmaMB: 0.2, truncate }, 3));
    // The means of the truncated and of the censored normal distribution.
    expect(of('redraw')).toBeCloseTo(0.323, 2);
    expect(of('clamp')).toBeCloseTo(0.3, 2);
  });

  it('takes sizes one by one', () => {
    expect([...sampleSizes({ sizesMB: [1, 0.5] }, 0)]).toEqual([1e6, 5e5]);
  });
});
