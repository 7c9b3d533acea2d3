import { readsToCome } from '@tiered/prefetch/sampling';
import { describe, expect, it } from 'vitest';
import { objectReads, splitSamples, type DataLoaderOptions, type LoaderPart } from '@tiered/loader';
import { checkedOptions } from '../src/options.js';
import { Parts } from '../src/order/parts.js';
import { describedJob, type DescribedJob } from '../src/reading/described-job.js';
import { jobOf } from '../src/reading/job.js';
import { singles } from './helpers.js';

const COUNTS = Array<number>(30).fill(1);
const OPTIONS = { batchSize: 3, epochs: 4, seed: 7, rank: 1, ranks: 3 };
type Options = Omit<DataLoaderOptions, 'transform' | 'collate'>;

function described(part: LoaderPart, options: Options): DescribedJob | undefined {
  const parts = new Parts(part);
  return describedJob(parts, jobOf(parts, checkedOptions(options), options).job);
}

describe('the description of a job', () => {
  it.each<Partial<Options>>([
    {},
    { ranks: 1, rank: 0 },
    { ranks: 1, rank: 0, shuffle: false },
    { ranks: 1, rank: 0, shuffle: { window: 64 } },
    { dropLast: true, ranks: 4 },
  ])('says as often as the loader reads each object: %o', async (changes) => {
    const samples = await singles(COUNTS);
    const options = { ...OPTIONS, ...changes };
    const job = described({ samples }, options);
    expect(job).toBeDefined();
    const told = await readsToCome(job ? [{ ...job, epoch: 0 }] : [], { samples: samples.samples });
    const { frequency } = await objectReads(samples, options);
    expect([...told]).toEqual([...frequency]);
  });

  it('says a run of samples, by the numbers that they have in all', async () => {
    const samples = await singles(COUNTS);
    const only = Uint32Array.from({ length: 12 }, (_, i) => 5 + i);
    const job = described({ samples, only }, OPTIONS);
    expect(job).toMatchObject({ first: 5, samples: 12 });
    const told = await readsToCome(job ? [{ ...job, epoch: 0 }] : [], { samples: samples.samples });
    expect([...told]).toEqual([...(await objectReads({ samples, only }, OPTIONS)).frequency]);
  });

  it('is missing where a seed and some numbers do not say it', async () => {
    const samples = await singles(COUNTS);
    const { train } = splitSamples(samples, { train: 0.5, rest: 0.5 });
    expect(described({ samples, only: train }, OPTIONS)).toBeUndefined();
    expect(described({ samples, weight: 2 }, OPTIONS)).toBeUndefined();
    expect(described({ samples }, { ...OPTIONS, epochSamples: 10 })).toBeUndefined();
    expect(described({ samples }, { ...OPTIONS, shuffle: false })).toBeUndefined();
    expect(described({ samples }, { ...OPTIONS, epochs: 2 ** 21 })).toBeUndefined();
  });
});
