import type { Clock, Hierarchy } from '@tiered/core';
import type { SampleSet } from '@tiered/formats';
import { readsToCome, type DescribedSequence } from '@tiered/prefetch/sampling';
import { frequencyPlan, roomsOf, UNPLANNED, type PlanRoom } from '@tiered/tiering/plans';
import type { RankPlan } from './plan-of-ranks.js';
import { sharedLevels } from './reading/described-job.js';
import type { ObjectReads } from './reading/reads-of-job.js';

/** What the plan of those who share tiers is made from. */
export interface PlanTogetherParts {
  readonly samples: SampleSet;
  /** What all of them read, this rank among them. */
  readonly sequences: readonly DescribedSequence[];
  /** What this rank reads. */
  readonly own: ObjectReads;
  readonly savedMs: (bytes: number) => number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Plans what tiers keep that several readers share: what is worth most to all of them together. The worth of
 * a copy is the sum over the readers, so all of them plan alike: from the same sequences, ties in the order
 * in which the objects are listed. Nobody drops what the plan keeps, and nobody needs to ask.
 *
 * Levels that only this process has take what it reads most often itself of the rest.
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
  // What only others read is for them to bring.
  const plan = all.map((level, id) => (own.frequency[id] === 0 ? UNPLANNED : level));
  return { plan, first: own.first, leaving: (level) => leaving(namespace, level, { plan: all, frequency }) };
}

/** How often all of them still read each object. */
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

/** The copies on a level that the plan has no place for there: the least read first, of those the last. */
function leaving(
  namespace: Hierarchy['namespace'],
  level: number,
  { plan, frequency }: { readonly plan: Uint8Array; readonly frequency: Float64Array },
): number[] {
  const ids = [...plan.keys()].filter((id) => plan[id] !== level && namespace.levelOf(id) === level);
  return ids.sort((a, b) => (frequency[a] ?? 0) - (frequency[b] ?? 0) || b - a);
}
