import type { PlacementStats } from '@tiered/core/placement';
import type { HandlerParts } from './handler-parts.js';
import type { ServedReads } from './served-reads.js';

/**
 * The counts of all parts of a handler, and what they hold now. Reads that were served are counted by
 * `ServedReads`.
 */
export function statsOf({
  budget,
  source,
  ranges,
  copies,
  fills,
}: HandlerParts): Omit<PlacementStats, keyof ServedReads['counts']> {
  return {
    ...source.counts,
    ...copies.counts,
    ...fills.counts,
    waited: budget.waitedForTiers,
    fetching: ranges.count + fills.count,
    fetchingBytes: budget.held + ranges.bytes,
    tiers: copies.stores.all.map(({ usedBytes, claimedBytes, quotaBytes }) => ({
      usedBytes,
      reservedBytes: claimedBytes,
      quotaBytes,
    })),
  };
}
