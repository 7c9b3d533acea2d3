import { Random } from '@tiered/core';
import { ManualClock } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { shuffleQuality } from '../src/observe/shuffle-quality.js';
import { groups, loaderOf, namesOf, singles } from './helpers.js';

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
      'samples: 100 samples, 800 B; batches of 8, made in this thread',
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
