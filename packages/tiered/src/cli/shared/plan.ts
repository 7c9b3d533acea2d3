import { parseBytes, TieredError, type Hierarchy, type HierarchyOptions } from '@tiered/core';
import { formatOf, openSamples } from '@tiered/formats';
import { objectReads, type ObjectReads } from '@tiered/loader';
import { accessTables, rankSampler, torchDistributedSampler, type Sampler } from '@tiered/prefetch/sampling';
import { isPlanFollower, type PlanFollower } from '@tiered/tiering';
import {
  fillOrder,
  frequencyPlan,
  roomsOf,
  savedMsBy,
  UNPLANNED,
  type SpaceOptions,
} from '@tiered/tiering/plans';
import { policyOf } from '../../configuration/levels.js';
import type { CommandHost } from '../host.js';
import type { PlanOptions, TrainingOptions } from '../options.js';
import { keysIn } from './look.js';

/**
 * The sampler of a training over so many samples: what a `DataLoader` draws, or PyTorch.
 * @throws TieredError `TIERED_CONFIG_INVALID` for options that do not go together.
 */
export function samplerOf(samples: number, options: TrainingOptions): Sampler {
  const { seed, epochs, workers, worker, batchSize, dropLast = false, torch = false } = options;
  if (seed === undefined) throw wrong('--seed', 'is missing; it decides the order of the training');
  if (worker >= workers) throw wrong('--worker', `expected a worker from 0 to ${workers - 1}`);
  if (torch) {
    if (batchSize !== undefined)
      throw wrong('--batch-size', 'cannot be combined with --torch, whose order has no batches');
    return torchDistributedSampler({ samples, epochs, seed, workers, dropLast });
  }
  if (dropLast && batchSize === undefined)
    throw wrong('--batch-size', 'is missing; --drop-last needs the samples of a batch of one worker');
  return rankSampler({ samples, epochs, seed, workers, batchSize, dropLast });
}

/** An option that does not go with the others. */
function wrong(option: string, message: string): TieredError {
  return new TieredError('TIERED_CONFIG_INVALID', `${option}: ${message}`);
}

/** What a worker should keep (HDMLP, section 5.1). */
export interface Plan {
  /** The level of each object, by its number in the namespace, or `UNPLANNED`. */
  readonly plan: Uint8Array;
  /** The objects of each level, the fastest first, in the order in which they are first read. */
  readonly levels: readonly (readonly string[])[];
  /** Objects that the worker reads and that no level has room for, and objects that it never reads. */
  readonly left: number;
  readonly leftBytes: number;
  readonly unread: number;
}

/** What a plan is made for. */
interface Planned extends Pick<HierarchyOptions, 'model'> {
  /** As `tiersAhead` or `tiersOf` gives them. */
  readonly tiers: readonly SpaceOptions[];
}

/**
 * Plans what a worker of a training keeps, as its loader does.
 * @param source The objects, which are listed.
 */
export async function planOf(
  host: CommandHost,
  source: Hierarchy,
  { tiers, model }: Planned,
  options: PlanOptions,
): Promise<Plan> {
  const { namespace } = source;
  const { frequency, first } = await readsOf(host, source, options);
  const sizes = Float64Array.from(frequency, (_, id) => namespace.sizeOf(id));
  const quotas = await roomsOf(tiers, namespace);
  const plan = frequencyPlan({ frequency, first, sizes, quotas, savedMs: savedMsBy(model) });
  const levels = tiers.map((_, level) =>
    Array.from(fillOrder({ plan, first, level }), (id) => namespace.keyOf(id)),
  );
  let [left, leftBytes, unread] = [0, 0, 0];
  for (const [id, level] of plan.entries()) {
    if (frequency[id] === 0) unread += 1;
    else if (level === UNPLANNED) {
      left += 1;
      leftBytes += sizes[id] ?? 0;
    }
  }
  return { plan, levels, left, leftBytes, unread };
}

/** What the worker reads of each object, by the object's number in the namespace. */
async function readsOf(host: CommandHost, source: Hierarchy, options: PlanOptions): Promise<ObjectReads> {
  const { clock } = host;
  const { format: name, formatOptions, indexes, torch = false } = options;
  if (name !== undefined) {
    if (torch) throw wrong('--format', 'cannot be combined with --torch, whose samples are the objects');
    const { seed, epochs, worker: rank, workers: ranks, dropLast, batchSize = 1 } = options;
    // Refuses what does not go together.
    samplerOf(0, options);
    const format = await formatOf(name, formatOptions);
    const samples = await openSamples(source, { format, indexes });
    return objectReads(samples, { seed, epochs, rank, ranks, dropLast, batchSize, clock });
  }
  if (formatOptions !== undefined) throw wrong('--format-options', 'needs --format');
  if (indexes !== undefined) throw wrong('--indexes', 'needs --format');
  const { namespace } = source;
  const keys = await keysIn(source, () => true);
  const [table] = await accessTables(samplerOf(keys.length, options), [options.worker], { clock });
  const reads = { frequency: new Uint32Array(namespace.count), first: new Uint32Array(namespace.count) };
  for (const [sample, key] of keys.entries()) {
    const id = namespace.find(key);
    reads.frequency[id] = table?.frequency[sample] ?? 0;
    reads.first[id] = table?.first[sample] ?? 0;
  }
  return reads;
}

/** The policy of a configuration, if it places by plans. */
export function followerOf(config: HierarchyOptions): PlanFollower | undefined {
  const policy = policyOf(config);
  return policy !== undefined && isPlanFollower(policy) ? policy : undefined;
}

/** The tiers of a configuration, for who asks what they have room for. */
export function tiersOf({ tiers = [] }: HierarchyOptions): SpaceOptions[] {
  return tiers.map(({ driver, quota, layout }) => ({ driver, quotaBytes: parseBytes(quota), layout }));
}

/**
 * The tiers that are planned ahead of a training. Memory ends with a command. So it counts only where the
 * training follows a plan too, and brings the objects that are planned for memory itself.
 */
export function tiersAhead(config: HierarchyOptions): SpaceOptions[] {
  const isFollowed = followerOf(config) !== undefined;
  return tiersOf(config).map((tier) =>
    tier.driver.location === undefined && !isFollowed ? { ...tier, quotaBytes: 0 } : tier,
  );
}
