import type { OperationOptions } from '@tiered/core';
import { loadChecksum, type OperationScope } from '@tiered/core/internal';
import type { PlacementHost, PlacementStats } from '@tiered/core/placement';
import { CopyIndex } from './ledger/copy-index.js';
import { Fills } from './admission/fills.js';
import type { Holds } from './admission/holds.js';
import { FlushUrgency } from './memory/flush-urgency.js';
import { MemoryBudget } from './memory/memory-budget.js';
import { Writers } from './memory/writers.js';
import { Origins } from './origins/origins.js';
import type { PlacementPolicy } from './policies/policy.js';
import type { ChunkSize } from './source/chunk-size.js';
import { SourceGate } from './source/gate.js';
import { RangeReads } from './source/range-reads.js';
import { SourceReads } from './source/reads.js';
import { TierEvents } from './tier/tier-events.js';
import type { ServedReads } from './origins/served-reads.js';

/** The parts of a handler whose hierarchy has started. */
export interface HandlerParts {
  readonly host: PlacementHost;
  readonly budget: MemoryBudget;
  readonly urgency: FlushUrgency;
  readonly source: SourceReads;
  readonly ranges: RangeReads;
  readonly copies: CopyIndex;
  readonly fills: Fills;
  readonly origins: Origins;
}

/** Inputs of `openParts`. */
interface Wanted {
  readonly host: PlacementHost;
  readonly policy: PlacementPolicy;
  /** Concurrent background requests, and concurrent writes to tiers. */
  readonly concurrency: number;
  readonly chunkSize: ChunkSize;
  readonly memoryBytes: number;
  readonly readersWait: boolean;
  readonly seesHits: boolean;
  readonly tierReads: OperationScope;
  readonly holds: Holds;
  readonly closing: AbortSignal;
}

/** Opens the tiers, connects the parts, and starts to adopt copies. */
export async function openParts(wanted: Wanted, options: OperationOptions): Promise<HandlerParts> {
  const { host, policy, concurrency, chunkSize, memoryBytes, readersWait, tierReads, holds, closing } =
    wanted;
  const checksum = await loadChecksum();
  const budget = new MemoryBudget(memoryBytes, host.clock);
  const gate = new SourceGate(concurrency);
  const source = new SourceReads(host, chunkSize);
  const writers = new Writers(concurrency, host.clock);
  const urgency = new FlushUrgency(budget, writers);
  const events = new TierEvents();
  const copies = await CopyIndex.open({ host, checksum, tierReads, closing, events, urgency }, options);
  const fills = new Fills({
    host,
    policy,
    copies,
    events,
    source,
    gate,
    budget,
    checksum,
    chunkSize,
    writers,
    lanes: concurrency,
    readersWait,
    tierReads,
    holds,
    closing,
  });
  holds.begin({
    events,
    freeBytes: (level) => copies.stores.at(level).freeBytes,
    giveBack: (level, bytes) => fills.giveBack(level, bytes),
  });
  copies.stores.begin();
  const ranges = new RangeReads(source, gate);
  const origins = new Origins({ ...wanted, copies, fills, ranges });
  return { host, budget, urgency, source, ranges, copies, fills, origins };
}

/**
 * Returns the counts of all parts of a handler, and what they hold now. `ServedReads` counts served reads.
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
