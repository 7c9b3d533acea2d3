import type { Batch } from '@tiered/loader';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allNames, loaderOf, nameOf, namesOf, singles } from './helpers.js';

type Batches = AsyncIterable<Batch<readonly Uint8Array[]>>;

/** What a loop was given: epochs, and names of samples. */
async function given(batches: Batches): Promise<{ epochs: number[]; names: string[] }> {
  const [epochs, names]: [number[], string[]] = [[], []];
  for await (const { epoch, data } of batches) {
    epochs.push(epoch);
    names.push(...data.map(nameOf));
  }
  return { epochs, names };
}

describe('a loop over an epoch', () => {
  it('[D12] has none of the next one, where a resume leaves nothing of the first', async () => {
    const samples = await singles([40]);
    const before = loaderOf(samples, { batchSize: 10, epochs: 3 });
    await namesOf(before, 3);
    const resume = before.stateDict();
    const options = { batchSize: 16, epochs: 3, dropLast: true, resume };
    const loader = loaderOf(samples, options);
    expect(loader.stateDict(), 'before the first batch').toEqual(resume);
    const epochs: number[][] = [];
    for (let i = 0; i < 3; i++) epochs.push((await given(loader.epoch())).epochs);
    expect(epochs).toEqual([[1, 1], [2, 2], []]);
    expect(loader.stateDict()).toMatchObject({ epoch: 3, done: 0 });
  });

  it('[D12] has nothing where a resume leaves nothing of the last', async () => {
    const samples = await singles([40]);
    const before = loaderOf(samples, { batchSize: 10 });
    await namesOf(before, 3);
    const loader = loaderOf(samples, { batchSize: 16, dropLast: true, resume: before.stateDict() });
    expect(await namesOf(loader.epoch())).toEqual([]);
    expect(loader.stateDict()).toMatchObject({ epoch: 1, done: 0 });
  });

  it('[D12] shares its epoch with other loops, and no other epoch', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          count: fc.integer({ min: 1, max: 40 }),
          batchSize: fc.integer({ min: 1, max: 8 }),
          ahead: fc.integer({ min: 1, max: 4 }),
        }),
        fc.integer({ min: 1, max: 4 }),
        async ({ count, ...options }, loops) => {
          const loader = loaderOf(await singles([count]), { ...options, epochs: 2 });
          for (const epoch of [0, 1]) {
            const most = Math.min(loops, loader.batchesPerEpoch);
            const all = await Promise.all(Array.from({ length: most }, () => given(loader.epoch())));
            for (const { epochs } of all) expect(new Set(epochs)).toEqual(new Set([epoch]));
            expect(all.flatMap(({ names }) => names).toSorted()).toEqual(allNames([count]).toSorted());
          }
          expect(await namesOf(loader.epoch())).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('[D12] begins with the epoch of the batch that it is given first', async () => {
    const loader = loaderOf(await singles([4]), { batchSize: 2, epochs: 2 });
    const [left, other] = [loader.epoch(), loader.epoch()];
    await left.next();
    // The last of its epoch, which nobody has waited for yet when the other one asks.
    const last = left.next();
    const { value } = await other.next();
    expect([(await last).value?.epoch, value?.epoch]).toEqual([0, 1]);
    expect((await left.next()).done).toBe(true);
  });
});
