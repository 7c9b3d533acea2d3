import type { Simulation } from './simulate.js';

/**
 * A simulation with so many times fewer samples, and all capacities as many times smaller: what is cached of the dataset
 * stays the same, and with it the time of a sample, so that all times are so many times shorter (to 1 % as long as
 * some 10,000 samples and a batch in each staging buffer are left). Sizes given one by one are taken at equal steps.
 * @param simulation Without a sampler of its own.
 * @param factor At least 1.
 */
export function scaledDown(simulation: Omit<Simulation, 'sampler'>, factor: number): Simulation {
  const { dataset, system } = simulation;
  const smaller = <T extends { readonly capacityMB: number }>(one: T): T => ({
    ...one,
    capacityMB: one.capacityMB / factor,
  });
  return {
    ...simulation,
    dataset:
      'sizesMB' in dataset
        ? { sizesMB: Array.from(dataset.sizesMB).filter((_, sample) => sample % factor < 1) }
        : { ...dataset, samples: Math.round(dataset.samples / factor) },
    system: { ...system, staging: smaller(system.staging), levels: system.levels.map(smaller) },
  };
}
