import { torchDistributedSampler, torchRandperm } from '@tiered/prefetch/sampling';
import { expect, it } from 'vitest';
import { withCode } from '../helpers.js';
import { epochOf } from './helpers.js';
import { expectDrawn, readTorchVectors } from './torch-vectors.js';

const vectors = readTorchVectors();

it.each([...new Set(vectors.randperm.map(({ n }) => n))])(
  '[S3] torchRandperm(%d, seed) is the permutation of torch.randperm',
  (n) => {
    for (const vector of vectors.randperm.filter((drawn) => drawn.n === n))
      expectDrawn(torchRandperm(n, vector.seed), vector, `seed ${vector.seed}`);
  },
);

it.each([...new Set(vectors.distributed.map(({ workers }) => workers))])(
  '[S3] torchDistributedSampler of %d workers reads what DistributedSampler reads',
  (workers) => {
    const vectorsOf = vectors.distributed.filter((drawn) => drawn.workers === workers);
    for (const { epoch, numbers, sha256, ...options } of vectorsOf) {
      const sampler = torchDistributedSampler({ ...options, epochs: epoch + 1 });
      const read = Uint32Array.from(epochOf(sampler, epoch).flat());
      expectDrawn(read, { numbers, sha256 }, JSON.stringify({ ...options, epoch }));
      for (let worker = 0; worker < options.workers; worker++)
        expect(sampler.epoch(worker, epoch)).toHaveLength(sampler.epochLength(worker));
    }
  },
);

it('torchDistributedSampler shuffles by seed 0 and fills up if nothing is said, as PyTorch does', () => {
  const all = { shuffle: true, seed: 0, dropLast: false };
  const [plain, said] = [{}, all].map((more) =>
    torchDistributedSampler({ samples: 10, workers: 4, ...more }),
  );
  expect(plain && epochOf(plain, 0)).toEqual(said && epochOf(said, 0));
  expect(plain?.epochs).toBe(1);
  expect(plain?.epochLength(3)).toBe(3);
});

it('what PyTorch does not draw, or not always alike, is refused', () => {
  const invalid = withCode('TIERED_CONFIG_INVALID');
  const versionsDiffer = 214_748_364;
  for (const n of [-1, 0.5, NaN, versionsDiffer])
    expect(() => torchRandperm(n, 0), `n ${n}`).toThrow(invalid);
  for (const seed of [-1, 0.5, NaN, 2 ** 53])
    expect(() => torchRandperm(1, seed), `seed ${seed}`).toThrow(invalid);
  for (const wrong of [
    { samples: -1 },
    { samples: versionsDiffer },
    { workers: 0 },
    { epochs: 0 },
    { seed: -1 },
    { seed: Number.MAX_SAFE_INTEGER, epochs: 2 },
  ])
    expect(
      () => torchDistributedSampler({ samples: 3, workers: 1, ...wrong }),
      JSON.stringify(wrong),
    ).toThrow(invalid);
  // In their own order, any number of samples is as good.
  expect(
    torchDistributedSampler({ samples: versionsDiffer, workers: 4, shuffle: false }).epochLength(0),
  ).toBe(versionsDiffer / 4);
});
