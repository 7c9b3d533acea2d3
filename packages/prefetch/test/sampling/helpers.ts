import { Random } from '@tiered/core';
import type { GlobalBatchSamplerOptions, Sampler } from '@tiered/prefetch/sampling';
import fc from 'fast-check';

/** Any settings of a sampler by global batches, also those that leave workers or batches without samples. */
export const settings = fc
  .record({
    samples: fc.nat(60),
    epochs: fc.integer({ min: 1, max: 4 }),
    seed: fc.maxSafeNat(),
    workers: fc.integer({ min: 1, max: 9 }),
    batchSize: fc.integer({ min: 1, max: 20 }),
    dropLast: fc.boolean(),
  })
  .filter(({ samples, batchSize, dropLast }) => !dropLast || samples === 0 || samples >= batchSize);

/** The order that no worker count may change: the samples of an epoch, batch by batch. */
export function globalOrder(options: GlobalBatchSamplerOptions, epoch: number): number[][] {
  const { samples, seed, batchSize, dropLast } = options;
  const order = [...new Random(seed, epoch).permutation(samples)];
  const batches: number[][] = [];
  while (order.length >= batchSize) batches.push(order.splice(0, batchSize));
  return order.length > 0 && dropLast !== true ? [...batches, order] : batches;
}

/** What each worker reads in an epoch. */
export function epochOf(sampler: Sampler, epoch: number): number[][] {
  return workersOf(sampler).map((worker) => [...sampler.epoch(worker, epoch)]);
}

/** The numbers of the workers. */
export function workersOf({ workers }: Sampler): number[] {
  return Array.from({ length: workers }, (_, worker) => worker);
}

/** In ascending order. */
export function sorted(numbers: readonly number[]): number[] {
  return [...numbers].sort((a, b) => a - b);
}
