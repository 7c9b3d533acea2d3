import type { Clock, Hierarchy } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import type { Parts } from '../order/parts.js';
import { batchesOf, type Job } from './planner.js';

/**
 * What one rank reads of each object until the end of a training. The number of an object is its number in
 * the namespace of the hierarchy. As `frequencyPlan` and `fillOrder` of `@tiered/tiering/plans` take it.
 */
export interface ObjectReads {
  /** How often: once for each of its samples. 0 for an object that is never read. */
  readonly frequency: Uint32Array;
  /** Which of the rank's reads is the first, counted from 0. 0 for an object that is never read. */
  readonly first: Uint32Array;
}

/** As `objectReads`, for a job. */
export async function readsOf(
  parts: Parts,
  job: Job,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<ObjectReads> {
  const { namespace } = hierarchyOf(parts);
  const idsOf = parts.list.map(({ samples }) => Int32Array.from(samples.keys, (key) => namespace.find(key)));
  const frequency = new Uint32Array(namespace.count);
  const first = new Uint32Array(namespace.count);
  let access = 0;
  for (let epoch = job.start.epoch; epoch < job.epochs; epoch++) {
    await clock.turn();
    signal?.throwIfAborted();
    for (const numbers of batchesOf(job, epoch)) {
      const { parts: partsOf, records } = parts.locate(numbers);
      for (let i = 0; i < records.length; i++) {
        const [part = 0, record = 0] = [partsOf[i], records[i]];
        const id = idsOf[part]?.[parts.list[part]?.samples.objectOf(record) ?? 0] ?? -1;
        if (frequency[id] === 0) first[id] = access;
        frequency[id] = (frequency[id] ?? 0) + 1;
        access += 1;
      }
    }
  }
  return { frequency, first };
}

/** @throws TieredError `TIERED_CONFIG_INVALID` for parts of several hierarchies. */
export function hierarchyOf({ hierarchies }: Parts): Hierarchy {
  const [hierarchy, ...others] = hierarchies;
  if (hierarchy !== undefined && others.length === 0) return hierarchy;
  throw configError('clairvoyant', 'parts of one hierarchy', `${1 + others.length}`);
}
