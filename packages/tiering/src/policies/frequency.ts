import { configError } from '@tiered/core/internal';
import { fits, type PlacementCandidate, type PlacementPolicy } from './policy.js';

/** In a plan: on no level, but in the source. */
export const UNPLANNED = 255;

/** What one worker will read, and what it has room for. */
export interface FrequencyPlanOptions {
  /** How often the worker will read each sample; the number of a sample is its place here. */
  readonly frequency: ArrayLike<number>;
  /** Which of the worker's accesses is its first to each sample, counted from 0; of those that it reads. */
  readonly first: ArrayLike<number>;
  /** Bytes of each sample. */
  readonly sizes: ArrayLike<number>;
  /** Bytes that each level holds, from the fastest; at most 255 levels. */
  readonly quotas: readonly number[];
}

/**
 * Which sample is to live on which level: those that this worker will read most often on the fastest, until each is full
 * (HDMLP, section 5.1). Of samples that are read equally often, those that are read first come first, so that with
 * one worker, where all are, it is what `firstFit` does. Whole samples only. Frequencies and first accesses are what
 * `accessTables` of `@tiered/prefetch` gives.
 *
 * O(accesses) time; 4 bytes an access and 4 a sample while it works, one byte a sample kept.
 * @returns The level of each sample, or `UNPLANNED`.
 * @throws TieredError `TIERED_CONFIG_INVALID` for more levels than a byte can name.
 */
export function frequencyPlan({ frequency, first, sizes, quotas }: FrequencyPlanOptions): Uint8Array {
  if (quotas.length > UNPLANNED) throw configError('quotas', `at most ${UNPLANNED} levels`, quotas.length);
  const plan = new Uint8Array(frequency.length).fill(UNPLANNED);
  const free = Float64Array.from(quotas);
  const wanted = mostFrequentFirst(frequency, inOrderOfAccess(frequency, first));
  for (let at = 0; at < wanted.length; at++) {
    const sample = wanted[at] ?? 0;
    const size = sizes[sample] ?? 0;
    let level = 0;
    while (level < free.length && (free[level] ?? 0) < size) level += 1;
    if (level === free.length) continue;
    plan[sample] = level;
    free[level] = (free[level] ?? 0) - size;
  }
  return plan;
}

/** The samples that are read at all, by first access. */
function inOrderOfAccess(frequency: ArrayLike<number>, first: ArrayLike<number>): Uint32Array {
  let accesses = 0;
  for (let sample = 0; sample < frequency.length; sample++) accesses += frequency[sample] ?? 0;
  // One more than its number, so that 0 means none.
  const samples = new Uint32Array(accesses);
  for (let sample = 0; sample < frequency.length; sample++) {
    if (frequency[sample] !== 0) samples[first[sample] ?? 0] = sample + 1;
  }
  let count = 0;
  for (let access = 0; access < accesses; access++) {
    const named = samples[access] ?? 0;
    if (named !== 0) samples[count++] = named - 1;
  }
  return samples.subarray(0, count);
}

/** By falling frequency, else as they came: a counting sort. */
function mostFrequentFirst(frequency: ArrayLike<number>, samples: Uint32Array): Uint32Array {
  // Each is looked up once: all over the table, that is what takes the time.
  const counts = samples.map((sample) => frequency[sample] ?? 0);
  let most = 0;
  for (let at = 0; at < counts.length; at++) most = Math.max(most, counts[at] ?? 0);
  const places = new Uint32Array(most + 1);
  for (let at = 0; at < counts.length; at++) {
    const rank = most - (counts[at] ?? 0);
    places[rank + 1] = (places[rank + 1] ?? 0) + 1;
  }
  for (let rank = 1; rank < places.length; rank++)
    places[rank] = (places[rank] ?? 0) + (places[rank - 1] ?? 0);
  const sorted = new Uint32Array(samples.length);
  for (let at = 0; at < counts.length; at++) {
    const rank = most - (counts[at] ?? 0);
    const place = places[rank] ?? 0;
    sorted[place] = samples[at] ?? 0;
    places[rank] = place + 1;
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
