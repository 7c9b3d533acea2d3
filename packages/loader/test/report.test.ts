import { Hierarchy, Random } from '@tiered/core';
import { ThrottleDriver } from '@tiered/core/decorators';
import { ManualClock } from '@tiered/core/testing';
import { openSamples } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';
import type { EpochFigures } from '@tiered/loader';
import { describe, expect, it, onTestFinished } from 'vitest';
import { reportOf } from '../src/observe/report.js';
import { shuffleQuality } from '../src/observe/figures.js';
import { RECORD } from './formats.js';
import { groups, loaderOf, namesOf, singles } from './helpers.js';
import { driverWith } from './sources.js';

describe('the report of a loader', () => {
  it('says what was read, in which order, what the source gave, and what limited it', async () => {
    const clock = new ManualClock();
    const loader = loaderOf(await singles([30, 70]), {
      batchSize: 8,
      epochs: 2,
      shuffle: false,
      prefetch: { clock },
    });
    for await (const { epoch } of loader.epoch()) await clock.advance(epoch + 1);
    await namesOf(loader.epoch());
    const lines = loader.report().split('\n');
    expect(lines.slice(0, 2)).toEqual([
      'data: 100 samples, 800 B; batches of 8, made in this thread',
      'order: as the samples are numbered; shuffle quality 0.03',
    ]);
    expect(lines[2]).toMatch(/^epoch 0: 13 batches, 100 samples in 0\.0 s, /);
    expect(lines[3]).toMatch(/^epoch 1: 13 batches, 100 samples/);
    expect(lines[4]).toBe('source: gave 1.6 KiB, no more than these tiers need for 2 epochs');
  });

  it('says how far the source is from the least', async () => {
    // The bytes between neighbours are read with them.
    const loader = loaderOf(await singles([30, 70]), { batchSize: 8, seed: 1 });
    await namesOf(loader);
    const report = loader.report();
    expect(report).toMatch(/^order: all 100 samples of an epoch shuffled; shuffle quality [01]\.\d\d$/m);
    expect(report).toMatch(/^source: gave .* KiB; with these tiers 800 B would do for 1 epoch$/m);
  });

  it('says of each epoch what limited it, and puts those together that are alike', async () => {
    const clock = new ManualClock();
    const source = new ThrottleDriver(await driverWith([100]), { latencyMs: 10, clock });
    const hierarchy = await clock.run(new Hierarchy({ source, clock }).open());
    onTestFinished(() => hierarchy.close());
    const samples = await clock.run(openSamples(hierarchy, { format: rawRecords({ recordBytes: RECORD }) }));
    // No room to read an epoch ahead of the one before.
    const prefetch = { clock, memory: 16 * RECORD };
    const loader = loaderOf(samples, { batchSize: 8, epochs: 4, prefetch });
    for (const computing of [0, 0, 1000, 1000]) {
      const train = async () => {
        for await (const batch of loader.epoch()) await clock.sleep(computing * batch.size);
      };
      await clock.run(train());
    }
    const { epochs } = loader.figures();
    expect(epochs.map(({ limit }) => limit?.what)).toEqual(['memory', 'memory', 'training', 'training']);
    const texts = loader
      .report()
      .split('\n')
      .filter((line) => line.startsWith('limit'));
    expect(texts).toEqual([
      `limit of epochs 0 to 1: the reading, whose consumers make the batches. ${epochs[1]?.reading?.verdict.text}`,
      'limit of epochs 2 to 3: the training itself: batches were there before it asked.',
    ]);
  });

  it('says the hit ratio of each epoch, and whose waiting it tells', async () => {
    const figures = loaderOf(await singles([10]), { batchSize: 10, seed: 1 }).figures();
    const epochWith = (epoch: number, waitedSeconds: number, bytes: readonly number[]) => {
      const levels = bytes.map((given, i) => ({ driver: ['disk', 's3'][i], reads: 10, bytes: given }));
      const reading = { levels } as unknown as EpochFigures['reading'];
      return { epoch, batches: 1, samples: 10, seconds: 50, waitedSeconds, reading, limit: undefined };
    };
    const epochs = [epochWith(0, 45, [0, 5e9]), epochWith(1, 40, [2.5e9, 2.5e9])];
    const report = reportOf({ ...figures, epochs });
    expect(report).toContain(
      'the training waited 90 % of the time for batches; hit ratio 0 %; 4.7 GiB read: 100 % from s3',
    );
    expect(report).toContain(
      'the training waited 80 % of the time for batches; hit ratio 50 %; 4.7 GiB read: 50 % from disk',
    );
  });

  it('says of a source that gave less than epochs need that the rest was there', async () => {
    const loader = loaderOf(await singles([10]), { batchSize: 10, seed: 1, epochs: 2 });
    await namesOf(loader);
    const source = { givenBytes: 44 * 2 ** 20, leastBytes: 74 * 2 ** 20, epochs: 2 };
    expect(reportOf({ ...loader.figures(), source })).toContain(
      'source: gave 44 MiB; from empty tiers 2 epochs would need 74 MiB: the rest was on tiers, or read before',
    );
  });

  it('says of an epoch that was left that the rest is not read yet', async () => {
    const loader = loaderOf(await singles([30]), { batchSize: 10, epochs: 1, shuffle: false });
    for await (const { epoch } of loader.epoch()) if (epoch === 0) break;
    const source = { givenBytes: 44 * 2 ** 20, leastBytes: 74 * 2 ** 20, epochs: 1 };
    expect(reportOf({ ...loader.figures(), source })).toContain(
      'from empty tiers 1 epoch would need 74 MiB: the rest was on tiers, read before, or is not read yet',
    );
  });

  it('has its figures as plain data', async () => {
    const samples = await singles([30, 70]);
    const only = Uint32Array.from({ length: 25 }, (_, i) => 2 * i);
    const loader = loaderOf([{ samples, only }], { batchSize: 8, epochs: 40, rank: 1, ranks: 2 });
    await namesOf(loader);
    const figures = loader.figures();
    expect(figures).toMatchObject({
      samples: 25,
      bytes: 25 * RECORD,
      batchSize: 8,
      batchesPerEpoch: 2,
      rank: 1,
      ranks: 2,
      workers: 0,
      order: 'all 25 samples of an epoch shuffled',
      skipped: 0,
      source: undefined,
      tiers: [],
    });
    expect(figures.epochs.map(({ epoch }) => epoch)).toEqual(Array.from({ length: 32 }, (_, i) => 8 + i));
    expect(structuredClone(figures)).toEqual(figures);
    expect(reportOf(figures)).toBe(loader.report());
  });

  it('counts all epochs for the least that a source has to give, and no tiers of several hierarchies', async () => {
    const samples = await singles([100]);
    const loader = loaderOf(samples, { batchSize: 50, epochs: 40 });
    await namesOf(loader);
    expect(loader.figures().source).toMatchObject({ leastBytes: 40 * 100 * RECORD, epochs: 40 });
    const two = loaderOf([{ samples }, { samples: await singles([10]) }], { batchSize: 50 });
    await namesOf(two);
    expect(two.figures()).toMatchObject({ source: undefined, tiers: undefined, samples: 110 });
  });

  it('says how objects are read where samples cannot be read singly', async () => {
    const loader = loaderOf(await groups([64, 64], 4), { batchSize: 8, ranks: 2, rank: 1 });
    await namesOf(loader);
    const report = loader.report();
    expect(report).toContain('batches of 8, rank 1 of 2');
    expect(report).toContain('order: shuffled in windows of 64 MiB; objects are read in runs of neighbours');
  });
});

describe('the quality of a shuffle', () => {
  it('is 1 for a permutation, 0 for none, and between them for windows', () => {
    const count = 10_000;
    const order = Uint32Array.from({ length: count }, (_, i) => i);
    expect(shuffleQuality(order)).toBeLessThan(0.001);
    expect(Math.abs(shuffleQuality(new Random(1).permutation(count)) - 1)).toBeLessThan(0.05);
    const windows = order.slice();
    for (let at = 0; at < count; at += 1000) {
      const mixed = new Random(at).permutation(1000);
      for (const [i, sample] of mixed.entries()) windows[at + i] = at + sample;
    }
    expect(Math.abs(shuffleQuality(windows) - 0.1)).toBeLessThan(0.02);
    expect(shuffleQuality(Uint32Array.of(3))).toBe(1);
  });
});
