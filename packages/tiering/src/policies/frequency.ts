import { configError } from '@tiered/core/internal';
import { fits, type PlacementCandidate, type PlacementPolicy } from './policy.js';

/** In a plan: on no level, but in the source. */
export const UNPLANNED = 255;

/** What one worker will read, and what it has room for. */
export interface FrequencyPlanOptions {
  /** How often the worker will read each sample; the number of a sample is its place here. */
  readonly frequencies: ArrayLike<number>;
  /** The samples that the worker will read, in order of first access, each once. */
  readonly firstAccesses: Uint32Array;
  /** Bytes of each sample. */
  readonly sizes: ArrayLike<number>;
  /** Bytes that each level holds, from the fastest; at most 255 levels. */
  readonly quotas: readonly number[];
}

/**
 * Which sample is to live on which level: those that this worker will read most often on the fastest, until each is full
 * (HDMLP, section 5.1). Of samples that are read equally often, those that are read first come first, so that with
 * one worker, where all are, it is what `firstFit` does. Whole samples only.
 *
 * O(samples) time and memory, one byte a sample kept.
 * @returns The level of each sample, or `UNPLANNED`.
 * @throws TieredError `TIERED_CONFIG_INVALID` for more levels than a byte can name.
 */
export function frequencyPlan({ frequencies, firstAccesses, sizes, quotas }: FrequencyPlanOptions): Uint8Array {
  if (quotas.length > UNPLANNED) throw configError('quotas', `at most ${UNPLANNED} levels`, quotas.length);
  const plan = new Uint8Array(frequencies.length).fill(UNPLANNED);
  const free = Float64Array.from(quotas);
  for (const sample of mostFrequentFirst(frequencies, firstAccesses)) {
    const size = sizes[sample] ?? 0;
    let level = 0;
    while (level < free.length && (free[level] ?? 0) < size) level += 1;
    if (level === free.length) continue;
    plan[sample] = level;
    free[level] = (free[level] ?? 0) - size;
  }
  return plan;
}

/** By falling frequency, else as they came: a counting sort. */
function mostFrequentFirst(frequencies: ArrayLike<number>, samples: Uint32Array): Uint32Array {
  let most = 0;
  for (const sample of samples) most = Math.max(most, frequencies[sample] ?? 0);
  const places = new Uint32Array(most + 2);
  const rank = (sample: number) => most - (frequencies[sample] ?? 0);
  for (const sample of samples) places[rank(sample) + 1] = (places[rank(sample) + 1] ?? 0) + 1;
  for (let at = 1; at < places.length; at++) places[at] = (places[at] ?? 0) + (places[at - 1] ?? 0);
  const sorted = new Uint32Array(samples.length);
  for (const sample of samples) {
    const place = places[rank(sample)] ?? 0;
    sorted[place] = sample;
    places[rank(sample)] = place + 1;
  }
  return sorted;
}

/** Options of `frequency`. */
export interface FrequencyOptions {
  /** As `frequencyPlan` makes it. */
  readonly plan: Uint8Array;
  /** The number of the sample that an object is; undefined for objects that the plan does not know, which stay in the source. */
  readonly sampleOf: (key: string) => number | undefined;
}

/**
 * Objects live where a plan says, and nowhere else (HDMLP, section 5.1): a worker keeps what it will read most often, which
 * by Lemma 1 others read less often, and leaves to others what they will. Nothing is ever evicted. An object that has no
 * room on its level, because something else is there, stays in the source.
 */
export function frequency({ plan, sampleOf }: FrequencyOptions): PlacementPolicy {
  return {
    name: 'frequency',
    place: (object: PlacementCandidate, tiers) => {
      const sample = sampleOf(object.key);
      const planned = sample === undefined ? UNPLANNED : plan[sample];
      return tiers.find((tier) => tier.level === planned && fits(object, tier))?.level;
    },
  };
}
