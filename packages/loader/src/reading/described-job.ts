import type { Hierarchy } from '@tiered/core';
import type { SampleSet } from '@tiered/formats';
import { MOST_DESCRIBED, type DescribedSequence } from '@tiered/prefetch/sampling';
import { createHash } from 'node:crypto';
import type { Parts } from '../order/parts.js';
import { hashSamples } from '../state.js';
import type { Job } from './planner.js';

/** A description of a job's reads, without its position. */
export type DescribedJob = Omit<DescribedSequence, 'epoch'>;

/**
 * Describes the reads of a rank, so that others can foresee them: one sample set, or a run of its samples,
 * each read once per epoch. Undefined for anything else, such as parts with weights, or windows that several
 * ranks share.
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
  // A single rank reads each sample once per epoch, whatever the order.
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
 * A name for samples, their source, and the tiers they are shared on. Readers with the same name number
 * samples alike, and have the same copies. O(objects).
 */
export function sharedName(samples: SampleSet): string {
  const { source, tiers } = samples.hierarchy;
  const shared = sharedLevels(samples.hierarchy).map((level) => tiers[level]?.driver.location);
  const hash = createHash('sha256').update(JSON.stringify([source.location ?? source.name, shared]));
  hashSamples(hash, samples);
  return hash.digest('hex').slice(0, 32);
}
