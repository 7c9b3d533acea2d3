import { Random } from '@tiered/core';
import { firstFit } from '@tiered/tiering';
import { Copies, type Strategy, type World } from './strategy.js';
import { RoomsOfWorkers } from './rooms.js';

/**
 * Data sharding. Before training begins, each worker copies its part of the dataset, or as much of it as
 * fits. It then reads only these samples, in a random order, over and over, for as many accesses as an epoch
 * has.
 */
export const parallelStaging: Strategy = {
  name: 'parallel-staging',
  fullRandomization: false,
  refuses: (world) =>
    shardsOf(world).shards.every((shard) => shard.length > 0) ? undefined : 'no room for even one sample',
  start: (world) => {
    const { copies, shards, stagedBytes } = shardsOf(world);
    const { samples, workers } = world.sampler;
    const staged = shards.reduce((sum, shard) => sum + shard.length, 0);
    const reorder = (epoch: number, orders: readonly Uint32Array[]) => {
      for (const [worker, order] of orders.entries()) {
        const shard = shards[worker] ?? order;
        const shuffled = new Random(world.seed, SHARDS + epoch * workers + worker).permutation(shard.length);
        for (let position = 0; position < order.length; position++)
          order[position] = shard[shuffled[position % shard.length] ?? 0] ?? 0;
      }
      return samples - staged;
    };
    return { copies, stagedBytes, reorder };
  },
};

/** Streams of random numbers that no epoch of a sampler uses. */
const SHARDS = 2 ** 41;

function shardsOf(world: World): {
  readonly copies: Copies;
  readonly shards: readonly Uint32Array[];
  readonly stagedBytes: Float64Array;
} {
  const { samples, workers } = world.sampler;
  const copies = new Copies(world, false);
  const rooms = new RoomsOfWorkers(world, () => firstFit);
  const stagedBytes = new Float64Array(workers);
  const shards = Array.from({ length: workers }, (_, worker) => {
    const shard = new Uint32Array(Math.ceil((samples - worker) / workers));
    let count = 0;
    for (let sample = worker; sample < samples; sample += workers) {
      const level = rooms.place(worker, sample);
      if (level === undefined) continue;
      copies.put(worker, sample, level);
      shard[count++] = sample;
      stagedBytes[worker] = (stagedBytes[worker] ?? 0) + (world.sizes[sample] ?? 0);
    }
    return shard.subarray(0, count);
  });
  return { copies, shards, stagedBytes };
}
