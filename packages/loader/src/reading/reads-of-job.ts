import type { Clock, Hierarchy } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import type { Parts } from '../order/parts.js';
import { batchesOf, type Job } from './planner.js';

/**
 * The reads of each object by one rank until the end of a training. Objects are numbered by the namespace of
 * the hierarchy. For `frequencyPlan` and `fillOrder` of `@tiered/tiering/plans`.
 */
export interface ObjectReads {
  /** The number of reads: one for each of its samples. 0 for an object that is never read. */
  readonly frequency: Uint32Array;
  /** The index of its first read among the rank's reads, from 0. 0 for an object that is never read. */
  readonly first: Uint32Array;
}

/** Like `objectReads`, for a job. */
export async function readsOf(
  parts: Parts,
  job: Job,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<ObjectReads> {
  const { namespace } = hierarchyOf(parts);
  const objects = new ObjectsRead(parts);
  const frequency = new Uint32Array(namespace.count);
  const first = new Uint32Array(namespace.count);
  let access = 0;
  for (let epoch = job.start.epoch; epoch < job.epochs; epoch++) {
    await clock.turn();
    signal?.throwIfAborted();
    for (const ids of objects.of(job, epoch))
      for (const id of ids) {
        if (frequency[id] === 0) first[id] = access;
        frequency[id] = (frequency[id] ?? 0) + 1;
        access += 1;
      }
  }
  return { frequency, first };
}

/** The objects that a rank reads, by their numbers in the namespace. */
export class ObjectsRead {
  readonly #parts: Parts;
  /** The object of each key, by part. */
  readonly #ids: readonly Int32Array[];

  constructor(parts: Parts) {
    const { namespace } = hierarchyOf(parts);
    this.#parts = parts;
    this.#ids = parts.list.map(({ samples }) => Int32Array.from(samples.keys, (key) => namespace.find(key)));
  }

  /** Batch by batch: the object of each sample of an epoch, in order. */
  *of(job: Job, epoch: number): Generator<Int32Array> {
    for (const numbers of batchesOf(job, epoch)) {
      const { parts: partsOf, records } = this.#parts.locate(numbers);
      const ids = new Int32Array(records.length);
      for (let i = 0; i < ids.length; i++) {
        const part = partsOf[i] ?? 0;
        ids[i] = this.#ids[part]?.[this.#parts.list[part]?.samples.objectOf(records[i] ?? 0) ?? 0] ?? -1;
      }
      yield ids;
    }
  }
}

/** @throws TieredError `TIERED_CONFIG_INVALID` for parts of several hierarchies. */
export function hierarchyOf({ hierarchies }: Parts): Hierarchy {
  const [hierarchy, ...others] = hierarchies;
  if (hierarchy !== undefined && others.length === 0) return hierarchy;
  throw configError('clairvoyant', 'parts of one hierarchy', `${1 + others.length}`);
}
