import type { PlacementHost, PlacementStats } from '@tiered/core/placement';
import type { CopyIndex } from './copies/copy-index.js';
import type { Haste } from './fill/haste.js';
import type { MemoryBudget } from './fill/memory-budget.js';
import type { Fills } from './fill/fills.js';
import type { RangeReads } from './source/range-reads.js';
import type { ServedReads } from './served-reads.js';
import type { SourceReads } from './source/reads.js';

/** The parts of a handler whose hierarchy has started. */
export interface HandlerParts {
  readonly host: PlacementHost;
  readonly budget: MemoryBudget;
  readonly haste: Haste;
  readonly source: SourceReads;
  readonly ranges: RangeReads;
  readonly copies: CopyIndex;
  readonly fills: Fills;
}

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
