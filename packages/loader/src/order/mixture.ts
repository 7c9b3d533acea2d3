import { configError } from '@tiered/core/internal';
import type { EpochOrder } from './epoch-order.js';

/** One of the orders that are mixed. */
export interface MixedOrder {
  readonly order: EpochOrder;
  /** Added to its numbers. */
  readonly first: number;
  readonly weight: number;
}

/**
 * Mixes orders so that at every position each has had its share of the samples so far, to within one or two
 * samples, not only on average. An order that has ended continues with its next epoch. So an order of a large
 * weight is read several times in an epoch of the mixture, and one of a small weight continues in the next
 * epoch where it stopped.
 * @param length Samples of an epoch.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a length that leaves an order without a sample.
 */
export function mixtureOf(mixed: readonly MixedOrder[], length: number): EpochOrder {
  const counts = sharesOf(
    mixed.map(({ weight }) => weight),
    length,
  );
  const none = counts.findIndex((count) => count === 0);
  if (none !== -1)
    throw configError(
      `samples[${none}].weight`,
      'a weight that gives it a sample in every epoch',
      mixed[none]?.weight,
    );
  return {
    length,
    identity: ['mixture', length, ...mixed.map(({ order, weight }) => [weight, order.identity])],
    of: (epoch) => {
      const streams = mixed.map(({ order, first }, i) =>
        samplesFrom(order, epoch * (counts[i] ?? 0), counts[i] ?? 0, first),
      );
      return interleavedBy(counts, streams, length);
    },
  };
}

/** Whole samples in proportion to weights; the rest goes to the largest remainders. */
function sharesOf(weights: readonly number[], length: number): number[] {
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const exact = weights.map((weight) => (weight / sum) * length);
  const counts = exact.map(Math.floor);
  const left = length - counts.reduce((total, count) => total + count, 0);
  const byRemainder = [...exact.keys()].sort(
    (a, b) => ((exact[b] ?? 0) % 1) - ((exact[a] ?? 0) % 1) || a - b,
  );
  for (const i of byRemainder.slice(0, left)) counts[i] = (counts[i] ?? 0) + 1;
  return counts;
}

/** The samples of an order from a position on. Positions are counted over all epochs. */
function samplesFrom(order: EpochOrder, position: number, count: number, first: number): Uint32Array {
  const samples = new Uint32Array(count);
  for (let filled = 0; filled < count;) {
    const at = (position + filled) % order.length;
    const part = order.of(Math.floor((position + filled) / order.length)).subarray(at, at + count - filled);
    for (const sample of part) samples[filled++] = first + sample;
  }
  return samples;
}

/** The next sample comes from the order that is furthest behind: the one with the earliest due time. */
function interleavedBy(
  counts: readonly number[],
  streams: readonly Uint32Array[],
  length: number,
): Uint32Array {
  const order = new Uint32Array(length);
  const taken = counts.map(() => 0);
  for (let filled = 0; filled < length; filled++) {
    let next = 0;
    let earliest = Infinity;
    for (const [i, count] of counts.entries()) {
      const due = ((taken[i] ?? 0) + 0.5) / count;
      if ((taken[i] ?? 0) < count && due < earliest) [next, earliest] = [i, due];
    }
    order[filled] = streams[next]?.[taken[next] ?? 0] ?? 0;
    taken[next] = (taken[next] ?? 0) + 1;
  }
  return order;
}
