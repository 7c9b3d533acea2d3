import { systemClock } from '@tiered/core';
import {
  accessTables,
  firstAccesses,
  frequencyTable,
  frequencyTables,
  globalBatchSampler,
  NEVER_READ,
  torchDistributedSampler,
  type Sampler,
} from '@tiered/prefetch/sampling';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withCode } from '../helpers.js';
import { settings, workersOf } from './helpers.js';

/** Either kind of sampler. */
const samplers = fc.tuple(settings, fc.boolean()).map(([options, torch]) =>
  // Epochs add to the seed.
  torch ? torchDistributedSampler({ ...options, seed: options.seed % 2 ** 32 }) : globalBatchSampler(options),
);

/** All accesses of a worker, one after the other. */
function accessesOf(sampler: Sampler, worker: number): number[] {
  return Array.from({ length: sampler.epochs }, (_, epoch) => [...sampler.epoch(worker, epoch)]).flat();
}

/** A sampler that reads one sample so often in one epoch. */
function again(times: number): Sampler {
  const epoch = new Uint32Array(times).fill(1);
  return { samples: 3, epochs: 1, workers: 1, epochLength: () => times, epoch: () => epoch, at: () => 1 };
}

describe('the tables of a worker', () => {
  it('hold how often it reads each sample, and with which access first', async () => {
    await fc.assert(
      fc.asyncProperty(samplers, async (sampler) => {
        for (const worker of workersOf(sampler)) {
          const accesses = accessesOf(sampler, worker);
          const samples = [...Array(sampler.samples).keys()];
          const counts = samples.map((sample) => accesses.filter((read) => read === sample).length);
          const firsts = samples.map((sample) => accesses.indexOf(sample) >>> 0);
          expect([...(await frequencyTable(sampler, worker))]).toEqual(counts);
          expect([...(await firstAccesses(sampler, worker))]).toEqual(firsts);
        }
      }),
      { numRuns: 50 },
    );
    expect(-1 >>> 0).toBe(NEVER_READ);
  });

  it('are the same for many workers in one pass, by the order asked for', async () => {
    await fc.assert(
      fc.asyncProperty(samplers, fc.array(fc.nat(), { maxLength: 6 }), async (sampler, asked) => {
        const workers = asked.map((nth) => nth % sampler.workers);
        const tables = await accessTables(sampler, workers);
        const frequencies = await frequencyTables(sampler, workers);
        expect(tables.map(({ worker }) => worker)).toEqual(workers);
        for (const [i, { worker, frequency, first }] of tables.entries()) {
          expect(frequency).toEqual(await frequencyTable(sampler, worker));
          expect(frequencies[i]).toEqual(frequency);
          expect(first).toEqual(await firstAccesses(sampler, worker));
        }
      }),
      { numRuns: 50 },
    );
  });

  it('add up to the epochs for every sample', async () => {
    const sampler = globalBatchSampler({ samples: 500, epochs: 40, seed: 3, workers: 7, batchSize: 32 });
    const tables = await frequencyTables(sampler, workersOf(sampler));
    for (let sample = 0; sample < 500; sample++)
      expect(tables.reduce((sum, table) => sum + (table[sample] ?? 0), 0)).toBe(40);
  });

  it.each([
    [255, Uint8Array],
    [256, Uint16Array],
    [65_535, Uint16Array],
    [65_536, Uint32Array],
  ])('hold a count of %d in the smallest array that can', async (times, kind) => {
    const table = await frequencyTable(again(times), 0);
    expect(table).toBeInstanceOf(kind);
    expect([...table]).toEqual([0, times, 0]);
  });

  it('of 10,000 samples read 250 times on average have about 323 above 275 accesses, as NoPFS expects (section 3)', async () => {
    const sampler = globalBatchSampler({
      samples: 10_000,
      epochs: 1000,
      seed: 1,
      workers: 4,
      batchSize: 100,
    });
    const expected = 10_000 * binomialTail(1000, 1 / 4, 275);
    expect(expected).toBeCloseTo(323, 0);
    const table = await frequencyTable(sampler, 0);
    const often = [...table].filter((frequency) => frequency > 275).length;
    // Four standard deviations of 17.7.
    expect(Math.abs(often - expected)).toBeLessThan(71);
  });

  it('mean, where a worker reads a sample often, that another reads it rarely, and the reverse (Lemma 1 of NoPFS)', async () => {
    const trainings = fc.record({
      samples: fc.integer({ min: 1, max: 60 }),
      epochs: fc.integer({ min: 1, max: 40 }),
      seed: fc.nat(),
      workers: fc.integer({ min: 2, max: 6 }),
      batchSize: fc.integer({ min: 1, max: 20 }),
    });
    await fc.assert(
      fc.asyncProperty(trainings, async (training) => {
        const { epochs: E, workers: N, samples } = training;
        const sampler = globalBatchSampler(training);
        const tables = await frequencyTables(
          sampler,
          Array.from({ length: N }, (_, worker) => worker),
        );
        for (let sample = 0; sample < samples; sample++) {
          const reads = tables.map((table) => table[sample] ?? 0);
          for (const [worker, often] of reads.entries()) {
            const others = reads.filter((_, other) => other !== worker);
            // (1 + delta) E / N reads of one leave (N - 1 - delta) / (N - 1) x E / N for each of the others,
            // on average.
            const delta = (often * N) / E - 1;
            const left = ((N - 1 - delta) / (N - 1)) * (E / N);
            // Whole to within what a number of 64 bits can say.
            expect(Math.min(...others)).toBeLessThanOrEqual(Math.ceil(left - 1e-9));
            expect(Math.max(...others)).toBeGreaterThanOrEqual(Math.floor(left + 1e-9));
          }
        }
      }),
    );
  });

  it('are refused for a worker that there is not, or too many accesses to number', async () => {
    const sampler = globalBatchSampler({ samples: 3, seed: 1, workers: 2, batchSize: 2 });
    const invalid = withCode('TIERED_CONFIG_INVALID');
    await expect(frequencyTable(sampler, 2)).rejects.toEqual(invalid);
    await expect(firstAccesses(sampler, -1)).rejects.toEqual(invalid);
    const endless = globalBatchSampler({ samples: 3, epochs: 2 ** 31, seed: 1, workers: 1, batchSize: 2 });
    await expect(firstAccesses(endless, 0)).rejects.toEqual(invalid);
    await expect(accessTables(endless, [0])).rejects.toEqual(invalid);
  });
});

describe('a pass over the epochs', () => {
  it('tells after each how far it is, and lets the event loop turn', async () => {
    const sampler = globalBatchSampler({ samples: 3, epochs: 3, seed: 1, workers: 1, batchSize: 2 });
    const told: string[] = [];
    await frequencyTable(sampler, 0, {
      onProgress: (done, epochs) => {
        told.push(`${done} of ${epochs}`);
        void systemClock.turn().then(() => told.push('turned'));
      },
    });
    expect(told).toEqual(['1 of 3', 'turned', '2 of 3', 'turned', '3 of 3', 'turned']);
  });

  it('ends with the reason of its signal', async () => {
    const sampler = globalBatchSampler({ samples: 3, epochs: 9, seed: 1, workers: 1, batchSize: 2 });
    const stop = new AbortController();
    const reason = new Error('enough');
    let last = 0;
    const pass = frequencyTable(sampler, 0, {
      signal: stop.signal,
      onProgress: (done) => {
        last = done;
        if (done === 4) stop.abort(reason);
      },
    });
    await expect(pass).rejects.toBe(reason);
    expect(last).toBe(4);
    await expect(firstAccesses(sampler, 0, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

/** P(X > k) for X ~ Binomial(n, p), by the ratio of neighbouring terms. */
function binomialTail(n: number, p: number, k: number): number {
  let term = (1 - p) ** n;
  let tail = 0;
  for (let x = 1; x <= n; x++) {
    term *= ((n - x + 1) / x) * (p / (1 - p));
    if (x > k) tail += term;
  }
  return tail;
}
