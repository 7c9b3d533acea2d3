import { configError } from '@tiered/core/internal';
import { inOrderOfAccess } from './access-order.js';
import { sortedBy } from './sorted-by.js';

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
  /**
   * Milliseconds that a copy of a sample of so many bytes spares each time it is read; from 0. A source that takes 10 ms
   * to answer and gives 100 MB/s: `(bytes) => 10 + bytes / 100e3`; with r reads at a time, which wait for it side by side,
   * `10 / r + bytes / 100e3`. Default: in proportion to the bytes, as with a source without latency, so that a byte is worth
   * the same in any sample.
   */
  readonly savedMs?: ((bytes: number) => number) | undefined;
}

/**
 * Which sample is to live on which level: what is worth most per byte to this worker on the fastest, until each is full.
 *
 * By default that is what it will read most often (HDMLP, section 5.1, which takes samples for similarly sized). With `savedMs`
 * it is frequency x savedMs(size) / size, the greedy rule of the knapsack problem: small samples come first, as they cost a
 * source its latency for few bytes. What is placed spares at least as much as any placement can, less one
 * sample (the one worth most) for each level. Samples of 0 bytes take no room, and are then the first.
 *
 * Of samples that are worth the same, to 1 in 10 million, those that are read first come first, so that with one worker, where
 * all are read equally often, the default is what `firstFit` does. Whole samples only. Frequencies and first accesses are what
 * `accessTables` of `@tiered/prefetch/sampling` gives.
 *
 * O(samples) time, and some 20 bytes a sample while it works, one byte a sample kept.
 * @returns The level of each sample, or `UNPLANNED`.
 * @throws TieredError `TIERED_CONFIG_INVALID` for more levels than a byte can name, and for a `savedMs` that is no number
 * from 0; the message names the size.
 */
export function frequencyPlan(options: FrequencyPlanOptions): Uint8Array {
  const { frequency, sizes, quotas } = options;
  if (quotas.length > UNPLANNED) throw configError('quotas', `at most ${UNPLANNED} levels`, quotas.length);
  const plan = new Uint8Array(frequency.length).fill(UNPLANNED);
  const free = Float64Array.from(quotas);
  const wanted = mostWantedFirst(options);
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

/** The samples that are read at all, by falling worth of a byte, else by first access. */
function mostWantedFirst({ frequency, first, sizes, savedMs }: FrequencyPlanOptions): Uint32Array {
  const wanted = inOrderOfAccess(first, (sample) => frequency[sample] !== 0);
  const worth = new Float32Array(wanted.length);
  for (let at = 0; at < wanted.length; at++) {
    const sample = wanted[at] ?? 0;
    const perByte = savedMs === undefined ? 1 : savedPerByte(savedMs, sizes[sample] ?? 0);
    worth[at] = (frequency[sample] ?? 0) * perByte;
  }
  // Floating point numbers that are not negative are ordered as their bits are.
  const keys = new Uint32Array(worth.buffer);
  for (let at = 0; at < keys.length; at++) keys[at] = ~(keys[at] ?? 0);
  return sortedBy(wanted, keys);
}

function savedPerByte(savedMs: (bytes: number) => number, size: number): number {
  const ms = savedMs(size);
  if (!(ms >= 0 && ms < Infinity)) throw configError(`savedMs(${size})`, 'milliseconds of at least 0', ms);
  // Not -0, whose bits are those of a large number.
  return size === 0 ? Infinity : Math.abs(ms / size);
}
