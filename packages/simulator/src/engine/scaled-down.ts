import type { Simulation } from './simulate.js';

/**
 * Makes a simulation smaller: divides the number of samples and all capacities by a factor. The cached part
 * of the dataset stays the same, and so does the time of a sample, so all times are shorter by this factor
 * (to 1 % as long as some 10,000 samples and a batch in each staging buffer are left). Of sizes given one by
 * one, those at equal steps are taken.
 * @param simulation Must have no sampler of its own.
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
