import type { StorageDriver } from '../driver/driver.js';
import type { Namespace } from '../namespace/metadata-container.js';
import type { PlacementStats } from '../placement/placement.js';
import type { ReadPath } from '../read/read-path.js';
import type { Tier } from '../tier/tier.js';

/** A tier in a snapshot. */
export interface TierStats {
  readonly level: number;
  readonly driver: string;
  /** Reads that it served in whole or in part, and the bytes it returned. */
  readonly reads: number;
  readonly readBytes: number;
  /** Operations that failed and were served by another level. */
  readonly faults: number;
  /** Whether reads use it at this moment, and whether fills do. */
  readonly readable: boolean;
  readonly writable: boolean;
  /**
   * Bytes that it may hold: its quota, or less if its storage turned out to be smaller or another process
   * allows less.
   */
  readonly quotaBytes: number;
  readonly usedBytes: number;
  readonly reservedBytes: number;
}

/**
 * Reads that were served, each counted once, when it ends. Reads of handles, batches and prefetchers are
 * included. The parts add up to `total`. Rejected reads do not count.
 */
export interface ReadStats {
  readonly total: number;
  /** Served by tiers alone. */
  readonly fromTiers: number;
  /** Waited for bytes, all or some, that they requested from the source. */
  readonly fromSource: number;
  /** Waited only for bytes that another read, or the placement, had already requested from the source. */
  readonly joined: number;
  /** Reads of empty objects, or at or past the end of an object. They asked no storage. */
  readonly empty: number;
}

/** Requests, and the bytes they brought. */
interface LevelReads {
  readonly reads: number;
  readonly readBytes: number;
}

/** The activity of a hierarchy since it started, and its state at this moment. */
export interface HierarchyStats {
  readonly reads: ReadStats;
  /** Fastest first; without the source. */
  readonly tiers: readonly TierStats[];
  /**
   * Requests to the source by readers and the placement, and the bytes they brought. This differs from the
   * number of reads that waited for the source, or for peers in place of it.
   */
  readonly source: { readonly driver: string } & LevelReads;
  /**
   * Reads that other workers of a cluster answered in place of the source; `source` does not count them.
   * Undefined for a hierarchy without a cluster.
   */
  readonly peers?: LevelReads | undefined;
  /** Known objects, and the sum of their sizes. */
  readonly namespace: { readonly objects: number; readonly bytes: number };
  readonly placement: Omit<
    PlacementStats,
    'tiers' | 'sourceReads' | 'sourceBytes' | 'copyReads' | 'ownReads' | 'joinedReads'
  >;
  /** Reads in flight; zero after close. */
  readonly activeReads: number;
}

/** Assembles a snapshot. */
export function snapshot(
  tiers: readonly Tier[],
  source: StorageDriver,
  namespace: Namespace,
  placement: PlacementStats,
  { active, counts }: Pick<ReadPath, 'active' | 'counts'>,
): HierarchyStats {
  const { tiers: ledgers, sourceReads, sourceBytes, ...counted } = placement;
  const { copyReads, ownReads, joinedReads: joined, ...placed } = counted;
  const { served, empty } = counts;
  const fromTiers = served + copyReads;
  return {
    reads: { total: fromTiers + ownReads + joined + empty, fromTiers, fromSource: ownReads, joined, empty },
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
    ...belowTiers(source, { reads: sourceReads, readBytes: sourceBytes }),
    namespace: { objects: namespace.known, bytes: namespace.bytes },
    placement: placed,
    activeReads: active,
  };
}

/** Reads below the tiers, split into source and peers. Reads in flight count for neither yet. */
function belowTiers({ name, peerReads }: StorageDriver, all: LevelReads) {
  if (peerReads === undefined) return { source: { driver: name, ...all } };
  const { reads, bytes } = peerReads;
  const ofSource = { reads: Math.max(0, all.reads - reads), readBytes: Math.max(0, all.readBytes - bytes) };
  return { source: { driver: name, ...ofSource }, peers: { reads, readBytes: bytes } };
}

/**
 * Returns the difference between two snapshots of one hierarchy. Counts are subtracted. Momentary values
 * (bytes, objects, fetches and reads in flight, whether tiers are in service) are those of the later
 * snapshot.
 */
export function statsBetween(before: HierarchyStats, now: HierarchyStats): HierarchyStats {
  const { fetching, fetchingBytes } = now.placement;
  return {
    ...now,
    reads: difference(before.reads, now.reads),
    tiers: now.tiers.map((tier, level) => {
      const { reads = 0, readBytes = 0, faults = 0 } = before.tiers[level] ?? {};
      return { ...tier, ...difference({ reads, readBytes, faults }, tier) };
    }),
    source: { ...now.source, ...difference(countsOf(before.source), now.source) },
    ...(before.peers !== undefined &&
      now.peers !== undefined && { peers: difference(before.peers, now.peers) }),
    placement: { ...difference(before.placement, now.placement), fetching, fetchingBytes },
  };
}

function countsOf({ reads, readBytes }: LevelReads): LevelReads {
  return { reads, readBytes };
}

/** The difference of each count that the earlier snapshot has. */
function difference<T extends object>(before: T, now: { readonly [Field in keyof T]: number }): T {
  const of = (field: string) => now[field as keyof T] - (before[field as keyof T] as number);
  return Object.fromEntries(Object.keys(before).map((field) => [field, of(field)])) as T;
}
