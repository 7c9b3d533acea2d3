import { firstFit } from '@tiered/tiering';
import { Copies, NOWHERE, quotasOf, type Strategy, type StrategyRun, type World } from './strategy.js';
import { RoomsOfWorkers } from './rooms.js';

/**
 * Workers keep the samples they read first, until they are full, and read from each other the samples that
 * others keep. By default only in RAM, the first level.
 */
function firstReaderKeeps(
  world: World,
  keeps: 'ram' | 'all' = 'ram',
): { readonly copies: Copies; readonly run: StrategyRun } {
  const copies = new Copies(world, true);
  const levels = keeps === 'ram' ? 1 : world.system.levels.length;
  const rooms = new RoomsOfWorkers(world, () => firstFit, levels);
  const brought = (worker: number, sample: number) => {
    if (copies.isAnywhere(sample)) return;
    const level = rooms.place(worker, sample);
    if (level !== undefined) copies.put(worker, sample, level);
  };
  return { copies, run: { copies, brought } };
}

/**
 * DeepIO with the order kept: the RAM of all workers, and the source for samples that are not in it. Ignores
 * how often a sample is read.
 */
export const deepioOrdered: Strategy = {
  name: 'deepio-ordered',
  start: (world) => firstReaderKeeps(world).run,
};

/**
 * DeepIO with the order relaxed. Once RAM is full the source is not read any more. A worker reads one of its
 * own samples instead of one that no worker has.
 */
export const deepioOpportunistic: Strategy = {
  name: 'deepio-opportunistic',
  fullRandomization: false,
  refuses: needsMemory,
  start: (world) => {
    const { copies, run } = firstReaderKeeps(world);
    const pools: Uint32Array[] = [];
    const next = new Float64Array(world.sampler.workers);
    const reorder = (epoch: number, orders: readonly Uint32Array[]) => {
      if (epoch === 0) pools.push(...orders.map((order) => order.slice(0, fitting(world, order))));
      let notCovered = 0;
      for (const [worker, order] of orders.entries()) {
        const pool = pools[worker] ?? order;
        for (let position = 0; position < order.length; position++) {
          const there = epoch === 0 ? position < pool.length : copies.isAnywhere(order[position] ?? 0);
          if (there) continue;
          const turn = next[worker] ?? 0;
          next[worker] = (turn + 1) % pool.length;
          order[position] = pool[turn] ?? 0;
          notCovered += 1;
        }
      }
      return notCovered;
    };
    return { ...run, reorder };
  },
};

/** Returns how many samples at the beginning of an order fit into the RAM of a worker. */
function fitting(world: World, order: Uint32Array): number {
  let [free = 0] = quotasOf(world);
  const end = order.findIndex((sample) => (free -= world.sizes[sample] ?? 0) < 0);
  return end < 0 ? order.length : end;
}

function needsMemory(world: World): string | undefined {
  const [ram = 0] = quotasOf(world);
  const largest = world.sizes.reduce((most, size) => Math.max(most, size), 0);
  return ram >= largest ? undefined : 'no level of RAM that holds a sample';
}

/** The LBANN data store holds the whole dataset in the RAM of all workers, or does not start. */
function needsAllInMemory(world: World): string | undefined {
  const all = (quotasOf(world)[0] ?? 0) * world.sampler.workers;
  if (world.totalBytes <= all) return undefined;
  const shown = (bytes: number) =>
    bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
  return `the dataset is ${shown(world.totalBytes)}, the RAM of all workers ${shown(all)}`;
}

/** The LBANN data store, filled in the first epoch: each sample stays with the worker that read it. */
export const lbannDynamic: Strategy = {
  name: 'lbann-dynamic',
  refuses: needsAllInMemory,
  start: (world) => firstReaderKeeps(world).run,
};

/** The LBANN data store, filled before training begins: each worker reads its part of the dataset. */
export const lbannPreloading: Strategy = {
  name: 'lbann-preloading',
  refuses: needsAllInMemory,
  start: (world) => {
    const { copies, run } = firstReaderKeeps(world);
    const { samples, workers } = world.sampler;
    const stagedBytes = new Float64Array(workers);
    for (let sample = 0; sample < samples; sample++) {
      const worker = sample % workers;
      copies.put(worker, sample, 0);
      stagedBytes[worker] = (stagedBytes[worker] ?? 0) + (world.sizes[sample] ?? 0);
    }
    return { ...run, stagedBytes };
  },
};

/** Options of `localityAware`. */
export interface LocalityAwareOptions {
  /**
   * The levels on which workers keep samples. Default: `'ram'`, because by Table 1 it does not use all of the
   * hardware.
   */
  readonly keeps?: 'ram' | 'all';
}

/**
 * Yang and Cong. The samples of a global batch are spread over the workers anyway, so each worker takes those
 * that it keeps, up to its part of the batch. The remaining ones go to workers that have too few. Epoch 0
 * fills the workers.
 */
export function localityAware({ keeps = 'ram' }: LocalityAwareOptions = {}): Strategy {
  return {
    name: 'locality-aware',
    start: (world) => {
      const { copies, run } = firstReaderKeeps(world, keeps);
      const { samples } = world.sampler;
      const owners = new Int32Array(samples).fill(-1);
      const brought = (worker: number, sample: number) => {
        run.brought?.(worker, sample);
        if (copies.levelOn(worker, sample) !== NOWHERE) owners[sample] = worker;
      };
      const reorder = (epoch: number, orders: readonly Uint32Array[]) => {
        const longest = Math.max(...orders.map(({ length }) => length));
        for (let from = 0; epoch > 0 && from < longest; from += world.batchPart) {
          const to = from + world.batchPart;
          exchange(
            orders.map((order) => order.subarray(from, to)),
            owners,
          );
        }
        return 0;
      };
      return { ...run, brought, reorder };
    },
  };
}

/** Redistributes the samples of a global batch. Each worker gets as many as it had. */
function exchange(parts: readonly Uint32Array[], owners: Int32Array): void {
  const batch = parts.flatMap((part) => [...part]);
  const filled = parts.map(() => 0);
  const give = (worker: number, sample: number) => {
    const at = filled[worker] ?? 0;
    const part = parts[worker];
    if (part === undefined || at === part.length) return false;
    part[at] = sample;
    filled[worker] = at + 1;
    return true;
  };
  const left = batch.filter((sample) => {
    const owner = owners[sample] ?? -1;
    return owner < 0 || !give(owner, sample);
  });
  let worker = 0;
  for (const sample of left) {
    while (worker < parts.length && !give(worker, sample)) worker += 1;
  }
}
