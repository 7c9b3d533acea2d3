import { TieredError } from '@tiered/core';
import {
  accessTables,
  globalBatchSampler,
  torchDistributedSampler,
  type Sampler,
} from '@tiered/prefetch/sampling';
import { fillOrder, frequencyPlan, UNPLANNED } from '@tiered/tiering/plans';
import type { TrainingOptions } from '../training.js';

/** An object that a training reads. */
export interface PlannedObject {
  readonly key: string;
  readonly size: number;
}

/**
 * The sampler of a training over so many objects.
 * @throws TieredError `TIERED_CONFIG_INVALID` for options that do not go together.
 */
export function samplerOf(samples: number, options: TrainingOptions): Sampler {
  const { seed, epochs, workers, worker, batchSize, torch = false } = options;
  if (seed === undefined) throw wrong('--seed', 'the seed of the training: it decides the order');
  if (worker >= workers) throw wrong('--worker', `a worker from 0 to ${workers - 1}`);
  if (torch) {
    if (batchSize !== undefined)
      throw wrong('--batch-size', 'nothing with --torch, whose order has no batches');
    return torchDistributedSampler({ samples, epochs, seed, workers });
  }
  if (workers > 1 && batchSize === undefined)
    throw wrong('--batch-size', 'the samples of a global batch, which the workers divide among them');
  return globalBatchSampler({ samples, epochs, seed, workers, batchSize: batchSize ?? 1 });
}

function wrong(option: string, expected: string): TieredError {
  return new TieredError('TIERED_CONFIG_INVALID', `${option}: expected ${expected}`);
}

/** What a worker should keep (HDMLP, section 5.1). */
export interface Plan {
  /** The objects of each level, the fastest first, in the order in which they are first read. */
  readonly levels: readonly (readonly PlannedObject[])[];
  /** Objects that the worker reads and that no level has room for, and objects that it never reads. */
  readonly left: number;
  readonly leftBytes: number;
  readonly unread: number;
}

/**
 * Plans by how often the worker reads each object.
 * @param objects In the order of their keys, which numbers the samples.
 * @param quotas Bytes of each level.
 */
export async function planOf(
  objects: readonly PlannedObject[],
  quotas: readonly number[],
  options: TrainingOptions,
): Promise<Plan> {
  const sampler = samplerOf(objects.length, options);
  const [table] = await accessTables(sampler, [options.worker]);
  if (table === undefined) throw new Error('a worker has no accesses');
  const sizes = Float64Array.from(objects, ({ size }) => size);
  const plan = frequencyPlan({ ...table, sizes, quotas });
  const levels = quotas.map((_, level) =>
    Array.from(fillOrder({ plan, first: table.first, level }), (sample) => objects[sample]).filter(
      (object) => object !== undefined,
    ),
  );
  let [left, leftBytes, unread] = [0, 0, 0];
  for (const [sample, level] of plan.entries()) {
    if (table.frequency[sample] === 0) unread += 1;
    else if (level === UNPLANNED) {
      left += 1;
      leftBytes += sizes[sample] ?? 0;
    }
  }
  return { levels, left, leftBytes, unread };
}

/** One access of a worker to an object. */
export interface FoundAccess {
  readonly epoch: number;
  readonly position: number;
}

/** The next accesses of a worker to an object, one an epoch at most. */
export function nextAccesses(
  sampler: Sampler,
  worker: number,
  sample: number,
  { from, most }: { readonly from: number; readonly most: number },
): FoundAccess[] {
  const found: FoundAccess[] = [];
  for (let epoch = from; epoch < sampler.epochs && found.length < most; epoch++) {
    const position = sampler.epoch(worker, epoch).indexOf(sample);
    if (position !== -1) found.push({ epoch, position });
  }
  return found;
}
