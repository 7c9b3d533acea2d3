import type { Hierarchy } from '@tiered/core';
import type { SampleSet } from '@tiered/formats';
import { MOST_DESCRIBED, type DescribedSequence } from '@tiered/prefetch/sampling';
import { createHash } from 'node:crypto';
import type { Parts } from '../order/parts.js';
import { hashSamples } from '../state.js';
import type { Job } from './planner.js';

/** What a job reads, without where it stands. */
export type DescribedJob = Omit<DescribedSequence, 'epoch'>;

/**
 * Describes what a rank reads, so that others foresee it: one sample set, or a run of its samples, each once
 * an epoch. Undefined for anything else, as for parts with weights, or windows that several ranks share.
 */
export function describedJob({ list }: Parts, { order, ...job }: Job): DescribedJob | undefined {
  const [part, ...others] = list;
  if (part === undefined || others.length > 0 || part.weight !== undefined) return undefined;
  const { epochs, batchSize, rank: worker, ranks: workers, dropLast } = job;
  const { only, samples: set } = part;
  const samples = only?.length ?? set.samples;
  const first = only?.[0] ?? 0;
  const isRun = only === undefined || (only.at(-1) ?? 0) - first + 1 === samples;
  const [kind, , seed] = order.identity;
  const isShuffled = kind === 'shuffled';
  // A sole rank reads each sample once an epoch, whatever the order.
  const isEach = order.length === samples && (isShuffled || workers === 1);
  if (!isRun || !isEach || epochs > MOST_DESCRIBED.epochs || samples > MOST_DESCRIBED.samples)
    return undefined;
  const drawn = { seed: isShuffled ? (seed as number) : 0, epochs, workers, worker, batchSize, dropLast };
  return { sampler: 'rank', first, samples, ...drawn };
}

/** The levels that other processes of this machine may share. */
export function sharedLevels({ tiers }: Pick<Hierarchy, 'tiers'>): number[] {
  return tiers.filter(({ driver }) => driver.capabilities.index).map(({ level }) => level);
}

/**
 * Names samples, where they come from, and the tiers that they are shared on: those who have the same name
 * number samples alike, and have the same copies. O(objects).
 */
export function sharedName(samples: SampleSet): string {
  const { source, tiers } = samples.hierarchy;
  const shared = sharedLevels(samples.hierarchy).map((level) => tiers[level]?.driver.location);
  const hash = createHash('sha256').update(JSON.stringify([source.location ?? source.name, shared]));
  hashSamples(hash, samples);
  return hash.digest('hex').slice(0, 32);
}
