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
} from '@tiered/prefetch';
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
    const table = await frequencyTable(sampler, 0);
    // Binomial(1000, 1/4) expects 323.3, with a standard deviation of 17.7: this is four of them.
    const often = [...table].filter((frequency) => frequency > 275).length;
    expect(Math.abs(often - 323)).toBeLessThan(71);
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
