import type { Clock, Hierarchy } from '@tiered/core';
import type { SampleSet } from '@tiered/formats';
import { readsToCome, type DescribedSequence } from '@tiered/prefetch/sampling';
import { frequencyPlan, roomsOf, UNPLANNED, type PlanRoom } from '@tiered/tiering/plans';
import type { RankPlan } from './plan-of-ranks.js';
import { sharedLevels } from './reading/described-job.js';
import type { ObjectReads } from './reading/reads-of-job.js';

/** Inputs of the plan of readers that share tiers. */
export interface PlanTogetherParts {
  readonly samples: SampleSet;
  /** The sequences of all readers, including this rank. */
  readonly sequences: readonly DescribedSequence[];
  /** The reads of this rank. */
  readonly own: ObjectReads;
  readonly savedMs: (bytes: number) => number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Plans the tiers that several readers share: they keep the copies that are worth most to all readers
 * together. The worth of a copy is the sum over the readers. So all readers make the same plan from the same
 * sequences, with ties in the order the objects are listed. No reader drops a planned copy, and they need not
 * coordinate.
 *
 * Levels that only this process has take the objects it reads most often itself from the rest.
 */
export async function planTogether(parts: PlanTogetherParts): Promise<RankPlan> {
  const { samples, own, savedMs } = parts;
  const { hierarchy, keys } = samples;
  const { namespace, tiers } = hierarchy;
  const frequency = await readsOfAll(parts);
  const numbers = new Uint32Array(namespace.count);
  for (const [number, key] of keys.entries()) numbers[namespace.find(key)] = number;
  const sizes = Float64Array.from(numbers, (_, id) => namespace.sizeOf(id));
  const rooms = await roomsOf(tiers, namespace);
  const shared = sharedLevels(hierarchy);
  const kept = planOn(shared, rooms, { frequency, first: numbers, sizes, savedMs });
  const rest = own.frequency.map((count, id) => (kept[id] === UNPLANNED ? count : 0));
  const alone = [...rooms.keys()].filter((level) => !shared.includes(level));
  const beside = planOn(alone, rooms, { ...own, frequency: rest, sizes, savedMs });
  const all = kept.map((level, id) => (level === UNPLANNED ? (beside[id] ?? UNPLANNED) : level));
  // Objects that only others read are left to them to fetch.
  const plan = all.map((level, id) => (own.frequency[id] === 0 ? UNPLANNED : level));
  return { plan, first: own.first, leaving: (level) => leaving(namespace, level, { plan: all, frequency }) };
}

/** How often all readers together still read each object. */
async function readsOfAll({ samples, sequences, clock, signal }: PlanTogetherParts): Promise<Float64Array> {
  const { hierarchy, keys } = samples;
  const counts = await readsToCome(sequences, { samples: samples.samples, clock, signal });
  const ids = keys.map((key) => hierarchy.namespace.find(key));
  const reads = new Float64Array(hierarchy.namespace.count);
  for (const [sample, count] of counts.entries()) {
    const id = ids[samples.objectOf(samples.recordOf(sample))] ?? -1;
    if (id >= 0) reads[id] = (reads[id] ?? 0) + count;
  }
  return reads;
}

type Worth = Omit<Parameters<typeof frequencyPlan>[0], 'quotas'>;

/** A plan for some of the levels. */
function planOn(levels: readonly number[], rooms: readonly PlanRoom[], worth: Worth): Uint8Array {
  const quotas = levels.flatMap((level) => rooms[level] ?? []);
  return frequencyPlan({ ...worth, quotas }).map((index) => levels[index] ?? UNPLANNED);
}

/**
 * The copies on a level that the plan has no place for there: the least read first, and among equals the
 * last.
 */
function leaving(
  namespace: Hierarchy['namespace'],
  level: number,
  { plan, frequency }: { readonly plan: Uint8Array; readonly frequency: Float64Array },
): number[] {
  const ids = [...plan.keys()].filter((id) => plan[id] !== level && namespace.levelOf(id) === level);
  return ids.sort((a, b) => (frequency[a] ?? 0) - (frequency[b] ?? 0) || b - a);
}
