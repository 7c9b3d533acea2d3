import { configError } from '@tiered/core/internal';
import type { StorageClass, SystemModel, ThroughputCurve } from '../model/model.js';
import type { Simulation } from './simulate.js';

/** A property to change, and the values it takes. */
export interface Change {
  /**
   * `staging` or a level, in GB; with `.read`, the MB/s of all its threads. `source`, its highest MB/s for
   * any number of workers: its curves keep their form, and levels are not written faster for it. `compute`,
   * in MB/s. `workers`.
   */
  readonly what: string;
  readonly values: readonly number[];
}

/** A changed system, and how it differs from the original. */
export interface Variant {
  readonly setup: string;
  readonly system: SystemModel;
}

/**
 * Parses a change, such as `ram=10,20,40`.
 * @throws TieredError `TIERED_CONFIG_INVALID` for anything else.
 */
export function parseChange(text: string): Change {
  const match = /^([\w.-]+)=([\d.,]+)$/.exec(text);
  const values = (match?.[2] ?? '').split(',').map(Number);
  if (match?.[1] === undefined || !values.every((value) => value > 0))
    throw configError('--what-if', 'changes such as ram=10,20,40', text);
  return { what: match[1], values };
}

/**
 * Makes every combination of these changes; the first one changes most slowly.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a property that the system does not have.
 */
export function variantsOf(system: SystemModel, changes: readonly Change[]): Variant[] {
  return changes.reduce<Variant[]>(
    (variants, { what, values }) =>
      variants.flatMap((variant) =>
        values.map((value) => {
          const text = `${what} ${sizeOf(what, value)}`;
          return {
            setup: variant.setup === '' ? text : `${variant.setup}, ${text}`,
            system: changed(variant.system, what, value),
          };
        }),
      ),
    [{ setup: '', system }],
  );
}

/** Formats a size with a unit that makes the number readable. */
function sizeOf(what: string, value: number): string {
  if (what === 'workers') return String(value);
  if (['compute', 'source'].includes(what) || what.endsWith('.read')) return `${value} MB/s`;
  return value < 1 ? `${Number((value * 1000).toPrecision(4))} MB` : `${value} GB`;
}

function changed(system: SystemModel, what: string, value: number): SystemModel {
  if (what === 'compute') return { ...system, computeMBps: value };
  if (what === 'workers') {
    if (!Number.isInteger(value)) throw configError('--what-if workers', 'whole numbers', value);
    return { ...system, workers: value };
  }
  if (what === 'source') return withSource(system, value);
  const [name, field] = what.split('.');
  const change = (one: StorageClass): StorageClass => {
    if (one.name !== name) return one;
    if (field === undefined) return { ...one, capacityMB: value * 1_000 };
    return { ...one, read: { points: [[one.threads, value]] } };
  };
  const classes = [system.staging, ...system.levels].map((one) => one.name);
  if (!classes.includes(name ?? '') || !(field === undefined || field === 'read'))
    throw configError(
      '--what-if',
      `compute, source, workers, or one of ${classes.join(', ')} with or without .read`,
      what,
    );
  return { ...system, staging: change(system.staging), levels: system.levels.map(change) };
}

/** Scales the throughput of the source, for reads and for filling levels. */
function withSource(system: SystemModel, most: number): SystemModel {
  const factor = most / mostOf(system.source);
  const levels = system.levels.map((level): StorageClass => {
    const { read, write = read, place } = level;
    if (place === undefined) return level;
    const limit = mostOf(write);
    // A faster source fills a level faster, up to its write rate, or as fast as was measured.
    return {
      ...level,
      place: scaled(place, (rate) => Math.max(Math.min(rate, rate * factor), Math.min(rate * factor, limit))),
    };
  });
  return { ...system, source: scaled(system.source, (rate) => rate * factor), levels };
}

function scaled({ points, ...rest }: ThroughputCurve, change: (rate: number) => number): ThroughputCurve {
  return { ...rest, points: points.map(([at, rate]) => [at, change(rate)] as const) };
}

function mostOf({ points }: ThroughputCurve): number {
  return Math.max(...points.map(([, rate]) => rate));
}

/**
 * Makes a simulation smaller: divides the number of samples and all capacities by a factor. The cached part
 * of the dataset stays the same, and so does the time of a sample, so all times are shorter by this factor
 * (to within 1 % as long as some 10,000 samples and a batch in each staging buffer are left). From sizes
 * given one by one, those at equal steps are taken.
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
