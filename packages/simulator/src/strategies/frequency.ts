import { frequency as frequencyPolicy, frequencyPlan, UNPLANNED } from '@tiered/tiering';
import type { World } from '../world.js';
import { RoomsOfWorkers } from './rooms.js';
import { Copies, NOWHERE, quotasOf, type Strategy } from './strategy.js';

/** Options of `frequency`. */
export interface FrequencyStrategyOptions {
  /**
   * Who brings a sample to the workers that are to keep it. `'anyone'`: whoever reads it from the source first; those
   * who are to keep it know when it is in that worker's staging buffer, a storage class like any other, and take it from
   * there. `'itself'`: a worker keeps what it has read from the source itself. Default: `'anyone'`.
   */
  readonly filledBy?: 'anyone' | 'itself';
}

/** NoPFS: each worker keeps what it will read most often, and reads the rest from those that do (section 5). */
export function frequency({ filledBy = 'anyone' }: FrequencyStrategyOptions = {}): Strategy {
  return {
    name: 'frequency',
    start: (world) => {
      const copies = new Copies(world);
      const plans = plansOf(world);
      const rooms = new RoomsOfWorkers(world, (worker) =>
        frequencyPolicy({ plan: plans[worker] ?? new Uint8Array(), sampleOf: Number }),
      );
      const keep = (worker: number, sample: number) => {
        if (plans[worker]?.[sample] === UNPLANNED || copies.own[worker]?.[sample] !== NOWHERE) return;
        const level = rooms.place(worker, sample);
        if (level !== undefined) copies.put(worker, sample, level);
      };
      const toAll = (_: number, sample: number) => {
        // Once it is anywhere it is wherever it is to be.
        if (copies.isAnywhere(sample)) return;
        for (let worker = 0; worker < plans.length; worker++) keep(worker, sample);
      };
      return { own: copies.own, best: copies.best, brought: filledBy === 'anyone' ? toAll : keep };
    },
  };
}

function plansOf(world: World): Uint8Array[] {
  const { frequencies, firstAccesses } = world.accesses();
  const quotas = quotasOf(world);
  return frequencies.map((table, worker) =>
    frequencyPlan({
      frequencies: table,
      firstAccesses: firstAccesses[worker] ?? new Uint32Array(),
      sizes: world.sizes,
      quotas,
    }),
  );
}
