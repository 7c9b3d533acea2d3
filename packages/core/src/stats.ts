import type { StorageDriver } from './driver.js';
import type { Namespace } from './metadata-container.js';
import type { PlacementStats } from './placement.js';
import type { Tier } from './tier.js';

/** A tier in a snapshot. */
export interface TierStats {
  readonly level: number;
  readonly driver: string;
  /** Reads it served, and their bytes. */
  readonly reads: number;
  readonly readBytes: number;
  /** Operations that failed and were served from elsewhere. */
  readonly faults: number;
  /** Whether reads, and placements, use it at this moment. */
  readonly readable: boolean;
  readonly writable: boolean;
  /** What it may hold: its quota, or less if its storage turned out to be smaller, or another process allows it less. */
  readonly quotaBytes: number;
  readonly usedBytes: number;
  readonly reservedBytes: number;
}

/** What a hierarchy did since it started, and what it holds at this moment. */
export interface HierarchyStats {
  /** Fastest first; without the source. */
  readonly tiers: readonly TierStats[];
  readonly source: { readonly driver: string; readonly reads: number; readonly readBytes: number };
  /** Known objects, and the sum of their sizes. */
  readonly namespace: { readonly objects: number; readonly bytes: number };
  readonly placement: Omit<PlacementStats, 'tiers' | 'sourceReads' | 'sourceBytes'>;
  /** Reads under way; zero after close. */
  readonly activeReads: number;
}

/** Puts a snapshot together. */
export function snapshot(
  tiers: readonly Tier[],
  source: StorageDriver,
  namespace: Namespace,
  placement: PlacementStats,
  activeReads: number,
): HierarchyStats {
  const { tiers: ledgers, sourceReads, sourceBytes, ...placed } = placement;
  return {
    tiers: tiers.map((tier, level) => ({
      level,
      driver: tier.driver.name,
      reads: tier.reads,
      readBytes: tier.readBytes,
      faults: tier.faults,
      readable: tier.reading.inService,
      writable: tier.writing.inService,
      quotaBytes: ledgers[level]?.quotaBytes ?? tier.quotaBytes,
      usedBytes: ledgers[level]?.usedBytes ?? 0,
      reservedBytes: ledgers[level]?.reservedBytes ?? 0,
    })),
    source: { driver: source.name, reads: sourceReads, readBytes: sourceBytes },
    namespace: { objects: namespace.count, bytes: namespace.bytes },
    placement: placed,
    activeReads,
  };
}
