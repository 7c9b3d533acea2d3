import {
  accessTables,
  describedSampler,
  rankSampler,
  readsToCome,
  torchDistributedSampler,
  type DescribedSequence,
} from '@tiered/prefetch/sampling';
import fc from 'fast-check';
import { ManualClock } from '@tiered/core/testing';
import { expect, it } from 'vitest';

const SAMPLES = 40;

const sequence = fc
  .record({
    sampler: fc.constantFrom('rank' as const, 'torch' as const),
    samples: fc.integer({ min: 1, max: SAMPLES }),
    offset: fc.nat(),
    seed: fc.nat({ max: 1000 }),
    epochs: fc.integer({ min: 1, max: 5 }),
    at: fc.nat(),
    workers: fc.integer({ min: 1, max: 4 }),
    batchSize: fc.integer({ min: 1, max: 4 }),
    dropLast: fc.boolean(),
  })
  .map(({ offset, at, ...one }): DescribedSequence => ({
    ...one,
    first: offset % (SAMPLES - one.samples + 1),
    epoch: at % (one.epochs + 1),
    worker: at % one.workers,
  }));

const plain: DescribedSequence = {
  ...{ sampler: 'rank', first: 0, samples: SAMPLES, seed: 1, epochs: 3, epoch: 0 },
  ...{ workers: 2, worker: 1, batchSize: 4, dropLast: false },
};

it('counts what each sampler still reads, in whatever order the sequences come', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(sequence, { maxLength: 6 }), async (sequences) => {
      const expected = new Float64Array(SAMPLES);
      for (const { first, epoch, worker, ...one } of sequences) {
        const { samples, seed, epochs, workers, batchSize, dropLast } = one;
        const drawn = { samples, seed, epochs, workers, dropLast };
        const sampler =
          one.sampler === 'torch' ? torchDistributedSampler(drawn) : rankSampler({ ...drawn, batchSize });
        for (let e = epoch; e < epochs; e++)
          for (const sample of sampler.epoch(worker, e))
            expected[first + sample] = (expected[first + sample] ?? 0) + 1;
      }
      expect(await readsToCome(sequences, { samples: SAMPLES })).toEqual(expected);
      expect(await readsToCome([...sequences].reverse(), { samples: SAMPLES })).toEqual(expected);
    }),
    { numRuns: 100 },
  );
});

it('draws the epochs of a training once for all of its workers', async () => {
  const [table] = await accessTables(describedSampler(plain), [1]);
  const both = await readsToCome([plain, { ...plain, worker: 0 }], { samples: SAMPLES });
  expect([...both]).toEqual(Array<number>(SAMPLES).fill(3));
  const one = await readsToCome([plain], { samples: SAMPLES });
  expect([...one]).toEqual([...(table?.frequency ?? [])]);
});

it.each([
  { samples: 1e15 },
  { samples: 2 ** 53 },
  { first: 1 },
  { first: -1 },
  { first: 2 ** 53 },
  { epochs: 1e9 },
  { epochs: 2 ** 21 },
  { workers: 1e9 },
  { worker: 2 },
  { epoch: 4 },
  { epoch: -1 },
  { batchSize: 0 },
  { seed: -1 },
  { seed: Number.NaN },
  { sampler: 'constructor' as never },
])('a sequence that lies counts for nothing, and costs nothing: %o', async (lie) => {
  const told = await readsToCome([{ ...plain, ...lie }, plain], { samples: SAMPLES });
  expect(told).toEqual(await readsToCome([plain], { samples: SAMPLES }));
});

/** A clock, and how often it has let the event loop turn. */
function countedTurns() {
  let turns = 0;
  const clock = new ManualClock();
  const turn = clock.turn.bind(clock);
  clock.turn = () => {
    turns += 1;
    return turn();
  };
  return { clock, turns: () => turns };
}

it('draws a part of what is too long, which stands for the rest, and ends with its signal', async () => {
  const { clock, turns } = countedTurns();
  const long = { ...plain, epochs: 2 ** 20, workers: 1, worker: 0 };
  const few = { samples: SAMPLES, mostDrawn: 3 * (SAMPLES + 1 + 512), clock };
  expect([...(await readsToCome([long], few))]).toEqual(Array<number>(SAMPLES).fill(2 ** 20));
  expect(turns()).toBe(3);
  const abort = new AbortController();
  const counting = readsToCome([long], { samples: SAMPLES, clock, signal: abort.signal });
  abort.abort(new Error('enough'));
  await expect(counting).rejects.toThrow('enough');
  expect(turns()).toBe(4);
});

it('[U11] epochs of next to nothing, of as many trainings as there may be, take bounded time', async () => {
  const { clock, turns } = countedTurns();
  const short = { ...plain, samples: 1, epochs: 2 ** 20, workers: 1, worker: 0 };
  const lies = Array.from({ length: 64 }, (_, seed) => ({ ...short, seed }));
  const counts = await readsToCome(lies, { samples: SAMPLES, mostDrawn: 2 ** 20, clock });
  expect(counts[0]).toBeCloseTo(64 * 2 ** 20);
  expect(turns()).toBeLessThan(2 ** 20 / 512);
});
