import { listSequence, shuffledSequence } from '@tiered/prefetch';
import { globalBatchSampler, samplerSequence, type GlobalBatchSampler } from '@tiered/prefetch/sampling';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keys, withCode } from '../helpers.js';
import { epochOf, globalOrder, settings, sorted, workersOf } from './helpers.js';

const invalid = withCode('TIERED_CONFIG_INVALID');

/** What each worker reads in each global batch of an epoch. */
function partsOf(sampler: GlobalBatchSampler, epoch: number): number[][][] {
  return Array.from({ length: sampler.batches }, (_, batch) =>
    workersOf(sampler).map((worker) => {
      const from = sampler.stateAfter(worker, { epoch, batches: batch }).position;
      const to = sampler.stateAfter(worker, { epoch, batches: batch + 1 }).position;
      return [...sampler.epoch(worker, epoch)].slice(from, to);
    }),
  );
}

describe('a sampler by global batches', () => {
  it('[S2] cuts the global order, which no number of workers changes, into contiguous parts of each batch', () => {
    fc.assert(
      fc.property(settings, (options) => {
        const sampler = globalBatchSampler(options);
        for (let epoch = 0; epoch < options.epochs; epoch++) {
          const parts = partsOf(sampler, epoch);
          expect(parts.map((batch) => batch.flat())).toEqual(globalOrder(options, epoch));
          for (const batch of parts) {
            const lengths = batch.map((part) => part.length);
            expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThanOrEqual(1);
          }
        }
      }),
    );
  });

  it('[S2] gives the workers parts that are disjoint, are together the epoch, and differ by one access at most', () => {
    fc.assert(
      fc.property(settings, (options) => {
        const sampler = globalBatchSampler(options);
        const lengths = workersOf(sampler).map((worker) => sampler.epochLength(worker));
        expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThanOrEqual(1);
        for (let epoch = 0; epoch < options.epochs; epoch++) {
          const read = epochOf(sampler, epoch);
          expect(read.map((part) => part.length)).toEqual(lengths);
          expect(sorted(read.flat())).toEqual(sorted(globalOrder(options, epoch).flat()));
          if (!options.dropLast) expect(sorted(read.flat())).toEqual([...Array(options.samples).keys()]);
        }
      }),
    );
  });

  it('refuses dropLast that leaves no batch', () => {
    const options = { samples: 21, seed: 1, workers: 2, dropLast: true };
    expect(() => globalBatchSampler({ ...options, batchSize: 50 })).toThrow(
      'batchSize: expected at most 21 with dropLast, as an epoch has no more samples, got 50',
    );
    expect(globalBatchSampler({ ...options, batchSize: 21 }).batches).toBe(1);
    expect(globalBatchSampler({ ...options, batchSize: 50, dropLast: false }).batches).toBe(1);
  });

  it('gives the same accesses in whatever order they are asked for, one by one or by epoch', () => {
    fc.assert(
      fc.property(
        settings,
        fc.array(fc.tuple(fc.nat(), fc.nat(), fc.nat()), { maxLength: 40 }),
        (options, asked) => {
          const expected = Array.from({ length: options.epochs }, (_, epoch) =>
            epochOf(globalBatchSampler(options), epoch),
          );
          const jumping = globalBatchSampler(options);
          for (const [w, e, p] of asked) {
            const worker = w % options.workers;
            const epoch = e % options.epochs;
            const samples = expected[epoch]?.[worker] ?? [];
            expect([...jumping.epoch(worker, epoch)]).toEqual(samples);
            const position = p % Math.max(1, samples.length);
            if (samples.length > 0) expect(jumping.at(worker, epoch, position)).toBe(samples[position]);
          }
        },
      ),
    );
  });

  it('reads as shuffledSequence does with one worker', () => {
    fc.assert(
      fc.property(settings, ({ samples, epochs, seed, batchSize }) => {
        const sampler = globalBatchSampler({ samples, epochs, seed, batchSize, workers: 1 });
        const sequence = samplerSequence(sampler, 0, keys(samples));
        expect([...sequence]).toEqual([...shuffledSequence(keys(samples), { seed, epochs })]);
      }),
    );
  });

  it('has one epoch and keeps the last batch if nothing is said', () => {
    const sampler = globalBatchSampler({ samples: 10, seed: 1, workers: 2, batchSize: 4 });
    expect(sampler).toMatchObject({ epochs: 1, batches: 3, samples: 10, workers: 2, batchSize: 4 });
    expect([0, 1].map((worker) => sampler.epochLength(worker))).toEqual([5, 5]);
  });

  it('gives workers without a sample an empty epoch', () => {
    const sampler = globalBatchSampler({ samples: 2, epochs: 2, seed: 1, workers: 4, batchSize: 2 });
    expect(workersOf(sampler).map((worker) => sampler.epochLength(worker))).toEqual([1, 1, 0, 0]);
    expect([...samplerSequence(sampler, 3, keys(2))]).toEqual([]);
  });

  it('refuses what cannot be', () => {
    const options = { samples: 10, epochs: 2, seed: 1, workers: 3, batchSize: 4 };
    for (const wrong of [
      { samples: -1 },
      { samples: 1.5 },
      { epochs: 0 },
      { seed: -1 },
      { workers: 0 },
      { workers: NaN },
      { batchSize: 0 },
    ])
      expect(() => globalBatchSampler({ ...options, ...wrong }), JSON.stringify(wrong)).toThrow(invalid);
    const sampler = globalBatchSampler(options);
    for (const [worker, epoch, position] of [
      [3, 0, 0],
      [-1, 0, 0],
      [0, 2, 0],
      [0, 0, 4],
      [0, 0, 0.5],
    ] as const)
      expect(() => sampler.at(worker, epoch, position), `${worker} ${epoch} ${position}`).toThrow(invalid);
    expect(() => sampler.epochLength(3)).toThrow(invalid);
    expect(() => sampler.epoch(3, 0)).toThrow(invalid);
    expect(() => sampler.epoch(0, 2)).toThrow(invalid);
  });
});

describe('the sequence of a worker', () => {
  it('says by at() and from() what the sampler says', () => {
    fc.assert(
      fc.property(settings, fc.nat(), (options, nth) => {
        const sampler = globalBatchSampler(options);
        const worker = nth % options.workers;
        const sequence = samplerSequence(sampler, worker, keys(options.samples));
        const length = sampler.epochLength(worker);
        expect(sequence).toMatchObject({ epochs: options.epochs, epochLength: length });
        const all = Array.from({ length: options.epochs }, (_, epoch) =>
          [...sampler.epoch(worker, epoch)].map((sample, position) => ({
            key: `${sample}`,
            epoch,
            position,
          })),
        ).flat();
        expect([...sequence]).toEqual(all);
        for (const [i, access] of all.entries()) {
          expect(sequence.at(access.epoch, access.position)).toEqual(access);
          if (i % 7 === 0) expect([...sequence.from(access.epoch, access.position)]).toEqual(all.slice(i));
        }
      }),
    );
  });

  it('is refused for a worker that there is not, and for more or fewer keys than samples', () => {
    const sampler = globalBatchSampler({ samples: 3, seed: 1, workers: 2, batchSize: 2 });
    expect(() => samplerSequence(sampler, 2, keys(3))).toThrow(invalid);
    expect(() => samplerSequence(sampler, 0, keys(2))).toThrow(invalid);
    expect(() => samplerSequence(sampler, 0, keys(4))).toThrow(invalid);
    expect(listSequence(keys(3)).epochLength).toBe(3);
  });
});
