import {
  frequencyTable,
  torchBatchSampler,
  torchDistributedSampler,
  torchRandomSampler,
  torchSubsetRandomSampler,
  torchWeightedRandomSampler,
  type Sampler,
} from '@tiered/prefetch/sampling';
import { describe, expect, it } from 'vitest';
import { withCode } from '../helpers.js';
import { EPOCHS, expectDrawn, readTorchVectors } from './torch-vectors.js';

const vectors = readTorchVectors();
const invalid = withCode('TIERED_CONFIG_INVALID');
const plain = { epochs: EPOCHS, seed: 5 };

/** Those of tools/torch-vectors.py. */
const weightsOf = (samples: number) =>
  Array.from({ length: samples }, (_, i) => (((i + 1) * 7919) % 101) / 10);

/** Those of tools/torch-vectors.py. */
const indicesOf = (count: number) => Array.from({ length: count }, (_, i) => ((i + 1) * 7919) % 1009);

/** What the one worker reads in all epochs. */
function allOf(sampler: Sampler): Uint32Array {
  const epochs = Array.from({ length: sampler.epochs }, (_, epoch) => sampler.epoch(0, epoch).slice());
  return Uint32Array.from(epochs.flatMap((epoch) => [...epoch]));
}

describe('torchRandomSampler', () => {
  it.each(['global', 'own'] as const)('[S3] reads what RandomSampler reads, generator: %s', (generator) => {
    const asked = vectors.random.filter((vector) => vector.generator === generator);
    expect(new Set(asked.map(({ baseSeed }) => baseSeed)).size).toBe(3);
    for (const { numbers, sha256, ...options } of asked)
      expectDrawn(
        allOf(torchRandomSampler({ ...options, epochs: EPOCHS })),
        { numbers, sha256 },
        JSON.stringify(options),
      );
  });

  it('[S3] reads what DataLoader(shuffle=True) reads after manual_seed if nothing is said', () => {
    const said = vectors.random.filter(
      ({ samples, length, replacement, generator, baseSeed }) =>
        samples === length && !replacement && generator === 'global' && baseSeed === 'every-epoch',
    );
    expect(said.length).toBeGreaterThan(4);
    for (const { samples, seed, numbers, sha256 } of said)
      expectDrawn(
        allOf(torchRandomSampler({ samples, seed, epochs: EPOCHS })),
        { numbers, sha256 },
        `${samples} samples, seed ${seed}`,
      );
    expect(torchRandomSampler({ samples: 3, seed: 0 }).epochs).toBe(1);
  });

  it('[S3] gives an epoch alike in any order of asking', () => {
    for (const generator of ['global', 'own'] as const)
      for (const baseSeed of ['every-epoch', 'once', 'never'] as const) {
        const options = { samples: 50, epochs: 8, seed: 3, generator, baseSeed };
        const inOrder = torchRandomSampler(options);
        const epochs = Array.from({ length: 8 }, (_, epoch) => inOrder.epoch(0, epoch).slice());
        const jumping = torchRandomSampler(options);
        for (const epoch of [5, 0, 7, 2, 3, 1, 0, 6, 4])
          expect(jumping.epoch(0, epoch), `${generator}, ${baseSeed}, ${epoch}`).toEqual(epochs[epoch]);
      }
  });

  it('reads each sample once an epoch, so that its tables are those of a sampler', async () => {
    const sampler = torchRandomSampler({ ...plain, samples: 100 });
    expect([...(await frequencyTable(sampler, 0))]).toEqual(Array(100).fill(EPOCHS));
    expect([sampler.samples, sampler.workers, sampler.epochLength(0)]).toEqual([100, 1, 100]);
  });

  it('refuses what PyTorch refuses, and what depends on its version', () => {
    for (const wrong of [
      { samples: 0 },
      { samples: 214_748_364 },
      { length: 0 },
      { epochs: 0 },
      { seed: -1 },
      { seed: 2 ** 53 },
      { generator: 'mine' as never },
      { baseSeed: 'twice' as never },
    ])
      expect(() => torchRandomSampler({ samples: 3, seed: 0, ...wrong }), JSON.stringify(wrong)).toThrow(
        invalid,
      );
  });
});

describe('torchWeightedRandomSampler', () => {
  it.each([true, false])('[S3] reads what WeightedRandomSampler reads, replacement: %s', (replacement) => {
    const asked = vectors.weighted.filter((vector) => vector.replacement === replacement);
    expect(asked.length).toBeGreaterThan(40);
    for (const { weights, numbers, sha256, ...options } of asked)
      expectDrawn(
        allOf(torchWeightedRandomSampler({ ...options, weights: weightsOf(weights), epochs: EPOCHS })),
        { numbers, sha256 },
        JSON.stringify({ weights, ...options }),
      );
  });

  it('draws with replacement if nothing is said, and never what has no weight', () => {
    const weights = [0, 1, 0, 2, 0];
    const sampler = torchWeightedRandomSampler({ ...plain, weights, length: 1000 });
    expect(new Set(allOf(sampler))).toEqual(new Set([1, 3]));
  });

  it('keeps weights of its own', () => {
    const weights = [1, 0];
    const sampler = torchWeightedRandomSampler({ ...plain, weights, length: 1, replacement: false });
    weights[0] = 0;
    expect([...allOf(sampler)]).toEqual([0, 0, 0]);
  });

  it('refuses what PyTorch refuses, and what depends on its version', () => {
    for (const wrong of [
      { weights: [] },
      { weights: [0, 0] },
      { weights: [1, -1] },
      { weights: [1, NaN] },
      { weights: [1, Infinity] },
      { weights: { length: 2 ** 24 + 1 } },
      { length: 0 },
      // Some versions take another way for one.
      { length: 1 },
      // What comes after all that have a weight is not the same everywhere.
      { replacement: false, length: 3 },
    ])
      expect(
        () => torchWeightedRandomSampler({ weights: [1, 2, 0], length: 2, seed: 0, ...wrong }),
        JSON.stringify(wrong),
      ).toThrow(invalid);
  });
});

describe('torchSubsetRandomSampler', () => {
  it('[S3] reads what SubsetRandomSampler reads', () => {
    expect(new Set(vectors.subset.map(({ baseSeed }) => baseSeed)).size).toBe(3);
    for (const { indices, numbers, sha256, ...options } of vectors.subset)
      expectDrawn(
        allOf(
          torchSubsetRandomSampler({
            ...options,
            samples: 1009,
            indices: indicesOf(indices),
            epochs: EPOCHS,
          }),
        ),
        { numbers, sha256 },
        JSON.stringify({ indices, ...options }),
      );
  });

  it('reads its indices alone, each as often as it is there, and keeps indices of its own', async () => {
    const indices = [7, 2, 9, 2];
    const sampler = torchSubsetRandomSampler({ ...plain, samples: 10, indices });
    indices[0] = 0;
    const table = [0, 0, 2, 0, 0, 0, 0, 1, 0, 1].map((times) => times * EPOCHS);
    expect([...(await frequencyTable(sampler, 0))]).toEqual(table);
    expect([sampler.samples, sampler.workers, sampler.epochLength(0)]).toEqual([10, 1, 4]);
  });

  it('refuses indices that the dataset does not have', () => {
    for (const indices of [[], [-1], [0.5], [NaN], [3], { length: 214_748_364 }])
      expect(
        () => torchSubsetRandomSampler({ samples: 3, indices, seed: 0 }),
        JSON.stringify(indices),
      ).toThrow(invalid);
    expect(() => torchSubsetRandomSampler({ samples: 0, indices: [0], seed: 0 })).toThrow(invalid);
  });
});

describe('torchBatchSampler', () => {
  it('[S3] cuts as BatchSampler does', () => {
    for (const { samples, batchSize, dropLast, batches } of vectors.batches) {
      const inOrder = torchDistributedSampler({ samples, workers: 1, shuffle: false });
      const sampler = torchBatchSampler(inOrder, { batchSize, dropLast });
      const cut = Array.from({ length: sampler.batches(0) }, (_, i) => [...sampler.batch(0, 0, i)]);
      expect(cut, JSON.stringify({ samples, batchSize, dropLast })).toEqual(batches);
      expect([...sampler.epoch(0, 0)]).toEqual(batches.flat());
      expect(sampler.epochLength(0)).toBe(batches.flat().length);
    }
  });

  it('is a sampler of what is left, of each worker and epoch', () => {
    const sampler = torchDistributedSampler({ samples: 25, epochs: 2, workers: 3, seed: 1 });
    const cut = torchBatchSampler(sampler, { batchSize: 4, dropLast: true });
    expect([cut.samples, cut.epochs, cut.workers, cut.batchSize]).toEqual([25, 2, 3, 4]);
    expect(cut.at(2, 1, 7)).toBe(sampler.at(2, 1, 7));
    expect([...cut.batch(2, 1, 1)]).toEqual([...sampler.epoch(2, 1)].slice(4, 8));
    for (const wrong of [() => cut.at(2, 1, 8), () => cut.batch(2, 1, 2), () => cut.batch(3, 0, 0)])
      expect(wrong).toThrow(invalid);
    expect(() => torchBatchSampler(sampler, { batchSize: 0 })).toThrow(invalid);
    expect(torchBatchSampler(sampler, { batchSize: 4 }).batches(0)).toBe(3);
  });
});
