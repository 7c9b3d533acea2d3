import type { FetchModel } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { inOrderOfAccess, sortedBy } from './sorted-by.js';

/** The entry of a plan for a sample that stays in the source. */
export const UNPLANNED = 255;

/** A level that decides for itself which samples fit. */
export interface PlanRoom {
  /** Takes room for a sample, if there is enough. Returns whether there was. */
  take(sample: number): boolean;
}

/** Options of `frequencyPlan`: the reads of one worker, and its room. */
export interface FrequencyPlanOptions {
  /** How often the worker will read each sample, by sample number. */
  readonly frequency: ArrayLike<number>;
  /**
   * For each sample that the worker reads: the position of its first access among the worker's accesses, from
   * 0.
   */
  readonly first: ArrayLike<number>;
  /** Bytes of each sample. */
  readonly sizes: ArrayLike<number>;
  /**
   * The capacity of each level, fastest first: bytes, or a room that decides for itself which samples fit. At
   * most 255 levels. Tiers use more than the bytes of objects: `roomsOf` makes rooms that account for that.
   */
  readonly quotas: readonly (number | PlanRoom)[];
  /**
   * Milliseconds that a copy of a sample of this many bytes saves per read, at least 0. For a source with a
   * latency of 10 ms and a bandwidth of 100 MB/s: `(bytes) => 10 + bytes / 100e3`. With r concurrent reads,
   * whose latencies overlap: `10 / r + bytes / 100e3`. Default: proportional to the bytes, as for a source
   * without latency, so that a byte is worth the same in any sample.
   */
  readonly savedMs?: ((bytes: number) => number) | undefined;
}

/**
 * Assigns samples to levels. The samples that are worth most per byte to this worker go to the fastest level
 * until it is full, then to the next.
 *
 * By default the samples that the worker will read most often are worth most (HDMLP, section 5.1, which
 * assumes samples of similar size). With `savedMs` the worth is frequency x savedMs(size) / size, the greedy
 * rule of the knapsack problem: small samples come first, because they cost a source its latency for few
 * bytes. The plan saves at least as much as any placement can, minus one sample (the one worth most) per
 * level. Samples of 0 bytes take no room; with `savedMs` they come first.
 *
 * Samples of equal worth, to 1 in 10 million, are ordered by first access. So with one worker, which reads
 * all samples equally often, the default plan equals what `firstFit` does. Only whole samples are planned.
 * Frequencies and first accesses come from `accessTables` of `@tiered/prefetch/sampling`.
 *
 * O(samples) time; about 20 bytes per sample while it runs, one byte per sample kept.
 * @returns The level of each sample, or `UNPLANNED`.
 * @throws TieredError `TIERED_CONFIG_INVALID` for more levels than a byte can name, or if `savedMs` returns
 * anything but a finite number of at least 0; the message names the size.
 */
export function frequencyPlan(options: FrequencyPlanOptions): Uint8Array {
  const { frequency, sizes, quotas } = options;
  if (quotas.length > UNPLANNED) throw configError('quotas', `at most ${UNPLANNED} levels`, quotas.length);
  const plan = new Uint8Array(frequency.length).fill(UNPLANNED);
  const rooms = quotas.map((quota) => (typeof quota === 'number' ? roomOf(quota, sizes) : quota));
  const wanted = mostWantedFirst(options);
  for (let at = 0; at < wanted.length; at++) {
    const sample = wanted[at] ?? 0;
    const level = rooms.findIndex((room) => room.take(sample));
    if (level !== -1) plan[sample] = level;
  }
  return plan;
}

/** Makes a room for this many bytes of samples. For one plan. */
export function roomOf(quota: number, sizes: ArrayLike<number>): PlanRoom {
  let free = quota;
  return {
    take: (sample) => {
      const size = sizes[sample] ?? 0;
      if (size > free) return false;
      free -= size;
      return true;
    },
  };
}

/** The samples that are read at all, by worth per byte with the highest first, then by first access. */
function mostWantedFirst({ frequency, first, sizes, savedMs }: FrequencyPlanOptions): Uint32Array {
  const wanted = inOrderOfAccess(first, (sample) => frequency[sample] !== 0);
  const worth = new Float32Array(wanted.length);
  for (let at = 0; at < wanted.length; at++) {
    const sample = wanted[at] ?? 0;
    const perByte = savedMs === undefined ? 1 : savedPerByte(savedMs, sizes[sample] ?? 0);
    worth[at] = (frequency[sample] ?? 0) * perByte;
  }
  // Floating-point numbers from 0 up have the same order as their bits.
  const keys = new Uint32Array(worth.buffer);
  for (let at = 0; at < keys.length; at++) keys[at] = ~(keys[at] ?? 0);
  return sortedBy(wanted, keys);
}

function savedPerByte(savedMs: (bytes: number) => number, size: number): number {
  const ms = savedMs(size);
  if (!(ms >= 0 && ms < Infinity)) throw configError(`savedMs(${size})`, 'milliseconds of at least 0', ms);
  // Math.abs, because a quotient of -0 has the bits of a large number.
  return size === 0 ? Infinity : Math.abs(ms / size);
}

/** An unmeasured source: a shared file system, or an object store. */
const LATENCY_MS = 5;
const BYTES_PER_MS = 100_000;

/**
 * Returns the milliseconds that a copy saves per read: the one rule of worth, for loaders and for tools that
 * plan ahead of them. Uses measurements if the model has them (`tiered calibrate`, and `model` in a
 * configuration). Else assumes 5 ms and 100 MB/s: small objects come first, because they cost a source its
 * latency for few bytes.
 *
 * The process's own reads are not used. Workers that compute each other's plans (`clusterPlan`), and a
 * command that fills tiers ahead of a training, must agree on the worth, and no two processes measure the
 * same. A loader also plans before its first read. And the duration of a read includes its wait among
 * concurrent reads, whereas a copy saves only a share of the latency. So measure once with `tiered
 * calibrate`, and give all of them that profile.
 */
export function savedMsBy(model: FetchModel | undefined): (bytes: number) => number {
  return (bytes) => model?.savedMs?.(bytes) ?? LATENCY_MS + bytes / BYTES_PER_MS;
}
