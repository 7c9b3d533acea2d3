import { firstFit as firstFitPolicy, lru as lruPolicy, type PlacementPolicy } from '@tiered/tiering';
import { Recency } from '@tiered/tiering/internal';
import { Copies, NOWHERE, type Strategy, type StrategyRun, type World } from './strategy.js';
import { RoomsOfWorkers } from './rooms.js';

/**
 * Runs a live placement policy on each worker by itself, as `Hierarchy` with `PlacementHandler` does. Samples
 * read from the source are placed, and copies are evicted if the policy evicts. Nothing is read from other
 * workers, and nothing is promoted.
 * @param policy Asked for every read of the source. It keeps nothing, so all workers can share it.
 */
export function placed(policy: PlacementPolicy): Strategy {
  return {
    name: policy.name,
    start: (world) => (policy.evicts === true ? evicting(world, policy) : keeping(world, policy)),
  };
}

/** MONARCH, on every worker: the first level with room, and nothing is ever evicted. */
export const firstFit: Strategy = { ...placed(firstFitPolicy), name: 'first-fit' };

/** A cache on every worker that evicts the least recently read sample. */
export const lru: Strategy = placed(lruPolicy);

function keeping(world: World, policy: PlacementPolicy): StrategyRun {
  const copies = new Copies(world, false);
  const rooms = new RoomsOfWorkers(world, () => policy);
  return {
    copies,
    destination: (worker, sample) => rooms.choose(worker, sample) ?? NOWHERE,
    brought: (worker, sample) => {
      // The source may have been faster than the copy.
      if (copies.levelOn(worker, sample) !== NOWHERE) return;
      copies.put(worker, sample, rooms.place(worker, sample) ?? NOWHERE);
    },
  };
}

/** As in `Placings`: after each placing, room for the largest object is made on its level. */
function evicting(world: World, policy: PlacementPolicy): StrategyRun {
  const copies = new Copies(world, false);
  const rooms = new RoomsOfWorkers(world, () => policy);
  const recency = Array.from({ length: world.sampler.workers }, () =>
    world.system.levels.map(() => new Recency()),
  );
  const served = (worker: number, sample: number, level: number) => {
    recency[worker]?.[level]?.touch(sample, world.sizes[sample] ?? 0);
  };
  return {
    copies,
    served,
    destination: (worker, sample) => rooms.choose(worker, sample) ?? NOWHERE,
    brought: (worker, sample) => {
      if (copies.levelOn(worker, sample) !== NOWHERE) return;
      const level = rooms.place(worker, sample);
      const order = level === undefined ? undefined : recency[worker]?.[level];
      if (level === undefined || order === undefined) return;
      copies.put(worker, sample, level);
      served(worker, sample, level);
      while (rooms.free(worker, level) < order.largest) {
        const oldest = order.oldest();
        if (oldest === undefined) break;
        copies.put(worker, oldest.id, NOWHERE);
        rooms.release(worker, level, oldest.bytes);
      }
    },
  };
}
