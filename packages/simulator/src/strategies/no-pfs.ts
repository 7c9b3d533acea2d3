import { frequencyPlan, UNPLANNED } from '@tiered/tiering/plans';
import { Copies, quotasOf, type Strategy, type World } from './strategy.js';

/** Options of `noPfs`. */
export interface NoPfsOptions {
  /**
   * Who brings a sample to the workers that should keep it. `'anyone'`: the worker that reads it from the
   * source first. The keepers know when it is in that worker's staging buffer, a storage class like any
   * other, and take it from there. `'itself'`: a worker keeps only samples that it has read from the source
   * itself. Default: `'anyone'`.
   */
  readonly filledBy?: 'anyone' | 'itself';
}

/**
 * NoPFS: each worker keeps the samples that it will read most often, and reads others from the workers that
 * keep them (section 5). Its plans are those of the live policy.
 */
export function noPfs({ filledBy = 'anyone' }: NoPfsOptions = {}): Strategy {
  return {
    name: 'nopfs',
    start: async (world) => {
      const { workers } = world.sampler;
      const copies = await plannedCopies(world);
      const toAll = (_: number, sample: number) => {
        for (let worker = 0; worker < workers; worker++) copies.arrive(worker, sample);
      };
      const toItself = (worker: number, sample: number) => copies.arrive(worker, sample);
      const destination = (worker: number, sample: number) => copies.plannedOn(worker, sample);
      return { copies, destination, brought: filledBy === 'anyone' ? toAll : toItself };
    },
  };
}

async function plannedCopies(world: World): Promise<Copies> {
  const copies = new Copies(world, true);
  const quotas = quotasOf(world);
  for (const { worker, frequency, first } of await world.accesses()) {
    const plan = frequencyPlan({ frequency, first, sizes: world.sizes, quotas });
    for (let sample = 0; sample < plan.length; sample++) {
      const level = plan[sample] ?? UNPLANNED;
      if (level !== UNPLANNED) copies.plan(worker, sample, level);
    }
  }
  return copies;
}
