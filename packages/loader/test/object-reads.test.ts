import { DataLoader, objectReads } from '@tiered/loader';
import { accessTables, rankSampler } from '@tiered/prefetch/sampling';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { groups, namesOf, singles } from './helpers.js';

const jobs = fc.record({
  samples: fc.integer({ min: 1, max: 40 }),
  epochs: fc.integer({ min: 1, max: 3 }),
  seed: fc.maxSafeNat(),
  ranks: fc.integer({ min: 1, max: 5 }),
  batchSize: fc.integer({ min: 1, max: 4 }),
  dropLast: fc.boolean(),
});

/** How often, and when first, names of samples that are objects were seen, by object. */
function tableOf(names: readonly string[], objects: number) {
  const reads = { frequency: new Uint32Array(objects), first: new Uint32Array(objects) };
  for (const [access, name] of names.entries()) {
    const object = Number(name.split('/')[0]);
    if (reads.frequency[object] === 0) reads.first[object] = access;
    reads.frequency[object] = (reads.frequency[object] ?? 0) + 1;
  }
  return reads;
}

describe('what a loader is foreseen to read', () => {
  it('[D9] is what each rank reads, and what the sampler of ranks says', async () => {
    await fc.assert(
      fc.asyncProperty(jobs, async ({ samples: count, ...job }) => {
        fc.pre(!job.dropLast || count >= job.batchSize * job.ranks);
        const samples = await singles(Array.from({ length: count }, () => 1));
        const { namespace } = samples.hierarchy;
        const ids = samples.keys.map((key) => namespace.find(key));
        const sampler = rankSampler({ samples: count, workers: job.ranks, ...job });
        for (let rank = 0; rank < job.ranks; rank++) {
          await using loader = new DataLoader(samples, { ...job, rank });
          const read = tableOf((await namesOf(loader)).flat(), count);
          const { frequency, first } = await objectReads(samples, { ...job, rank });
          expect(ids.map((id) => frequency[id])).toEqual([...read.frequency]);
          expect(ids.map((id) => first[id])).toEqual([...read.first]);
          const [table] = await accessTables(sampler, [rank]);
          expect([...(table?.frequency ?? [])]).toEqual([...read.frequency]);
          const firsts = table?.first.map((access, sample) => (table.frequency[sample] === 0 ? 0 : access));
          expect([...(firsts ?? [])]).toEqual([...read.first]);
        }
      }),
      { numRuns: 40 },
    );
  });

  it('[D9] counts objects for each of their samples, in windows and after a resume too', async () => {
    const samples = await groups([6, 4, 8, 5], 2);
    const job = { batchSize: 3, epochs: 3, seed: 5, rank: 1, ranks: 2 } as const;
    const before = new DataLoader(samples, job);
    for await (const { index } of before.epoch()) if (index === 1) break;
    const resume = before.stateDict();
    await before.close();
    await using loader = new DataLoader(samples, { ...job, resume });
    const { frequency, first } = await objectReads(samples, { ...job, resume });
    const read = tableOf((await namesOf(loader)).flat(), 4);
    const ids = samples.keys.map((key) => samples.hierarchy.namespace.find(key));
    expect(ids.map((id) => frequency[id])).toEqual([...read.frequency]);
    expect(ids.map((id) => first[id])).toEqual([...read.first]);
  });

  it('ends by its signal', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(objectReads(await singles([1]), { batchSize: 1, signal })).rejects.toThrow('enough');
  });
});

describe('the sampler of ranks', () => {
  it('needs a batch size where batches decide what is left out', () => {
    expect(() => rankSampler({ samples: 9, workers: 2, dropLast: true })).toThrow(/^batchSize: /);
  });
});
