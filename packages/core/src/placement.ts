import type { Clock } from './support/clock.js';
import type { Operation, OperationOptions, ReadOutcome, StorageDriver } from './driver/driver.js';
import { TieredError } from './support/errors.js';
import type { Namespace } from './namespace/metadata-container.js';
import type { ObjectRef } from './namespace/object-ref.js';
import type { Tier, TierUse } from './tier/tier.js';

/**
 * What to do when an object in the source is not the one that is known any more. `refresh` takes the new one, and drops
 * what tiers hold of the old; `pin` keeps to what was known at first, so that an epoch sees one state of the dataset,
 * and a read that meets another is an error; `ignore` trusts that equal sizes are equal content, and takes a version
 * only as a reason to look at the size. With all of them a copy on a tier is compared with the source when that is
 * listed, and not at each read.
 */
export type VersionPolicy = 'refresh' | 'pin' | 'ignore';

/** Where a copy of an object is, for the read path. */
export interface CopyPlace {
  readonly level: number;
  /** Whether it is whole and trusted: reads go to the tier without asking the placement. */
  readonly direct: boolean;
  /**
   * What is behind the key in its name on the tier, see `copyName`, or where it is, see `packedTag`; undefined if the
   * name is the key.
   */
  readonly tag: number | undefined;
}

/** Why a copy is not served any more. */
export type DropReason = 'damaged' | 'missing' | 'outdated' | 'evicted' | 'removed';

/** What a `Hierarchy` lends to its placement. */
export interface PlacementHost {
  readonly namespace: Namespace;
  /** Whether the namespace holds every object of the source. */
  readonly complete: boolean;
  /** Fastest first. A tier that could not be opened is among them: see `openTier`. */
  readonly tiers: readonly Tier[];
  /** Only to be read. */
  readonly source: StorageDriver;
  readonly versions: VersionPolicy;
  readonly clock: Clock;
  /** Opens the driver of a tier that could not be opened at start; does nothing if it is open. */
  openTier(tier: Tier, options: OperationOptions): Promise<void>;
  /** The version that a read of the source is to insist on, for an object whose known version this is. */
  versionToAskFor(version: string): string | undefined;
  /** From now on the object, or the part of it that the copy holds, is served from there. */
  publish(id: number, place: CopyPlace): void;
  /** The tag of the copy that an object is served from. */
  tagOf(id: number): number | undefined;
  /** From now on the object is served from the source. */
  withdraw(id: number): void;
  /** Announces a new copy. */
  placed(object: ObjectRef, level: number, bytes: number): void;
  /** Announces that a copy is gone. */
  dropped(key: string, level: number, reason: DropReason): void;
  /** An object could not be placed; nothing is lost but speed. */
  placementFailed(object: ObjectRef, level: number, error: unknown): void;
  /** A tier failed: counted, announced, and held against its health. */
  tierFault(tier: Tier, operation: Operation, key: string, error: unknown): void;
  /** A tier worked. */
  tierWorked(tier: Tier, use: TierUse): void;
  /** A tier served a read of so many bytes. */
  tierServed(tier: Tier, bytes: number): void;
  /** The storage of a tier was full before its quota was: it holds no more than this from now on. */
  tierShrunk(tier: Tier, quotaBytes: number): void;
}

/** What a placement did so far, and what it holds at this moment. */
export interface PlacementStats {
  /** Requests to the source, and the bytes they brought. */
  readonly sourceReads: number;
  readonly sourceBytes: number;
  /**
   * Reads that were served, each counted once: from copies on tiers alone; waiting for a request to the source that
   * they had made, or a fetch that they had started; and waiting only for what another had asked for already.
   */
  readonly copyReads: number;
  readonly ownReads: number;
  readonly joinedReads: number;
  /** Objects, or beginnings of objects, that were placed on a tier. */
  readonly placed: number;
  /** Copies taken over from an earlier process, or from another one. */
  readonly adopted: number;
  /** Copies that were dropped because a chunk was not what had been written, or was missing. */
  readonly damaged: number;
  /** Copies that were dropped because the source has another version. */
  readonly outdated: number;
  /** Copies that left to make room, where the policy evicts, and copies moved to a faster tier, where it promotes. */
  readonly evicted: number;
  readonly promoted: number;
  /** Reads that did not begin to place their object because no tier had room for it, or took it. */
  readonly declined: number;
  /**
   * Reads that did not begin to place their object because its tier was behind: memory was full of what is still to be
   * written, too many objects were on their way, or an older copy was still being deleted. Most are placed later.
   */
  readonly behind: number;
  /** Chunks that readers asked for and that waited until tiers had taken some of what memory was full of. */
  readonly waited: number;
  /** Objects that were to be placed and could not be. */
  readonly failed: number;
  /** Fetches under way now, and the bytes of memory they hold. */
  readonly fetching: number;
  readonly fetchingBytes: number;
  /**
   * Per tier: bytes of copies, bytes promised to copies on their way, and what it may hold, over all processes that
   * share it.
   */
  readonly tiers: readonly {
    readonly usedBytes: number;
    readonly reservedBytes: number;
    readonly quotaBytes: number;
  }[];
}

/** One read of a batch: all of the target, which is not empty, from an offset of an object. */
export interface PlacementRead {
  readonly object: ObjectRef;
  readonly offset: number;
  readonly target: Uint8Array;
}

/** What a placement did that has done nothing. */
export const NOTHING_PLACED: PlacementStats = Object.freeze({
  sourceReads: 0,
  sourceBytes: 0,
  copyReads: 0,
  ownReads: 0,
  joinedReads: 0,
  placed: 0,
  adopted: 0,
  damaged: 0,
  outdated: 0,
  evicted: 0,
  promoted: 0,
  declined: 0,
  behind: 0,
  waited: 0,
  failed: 0,
  fetching: 0,
  fetchingBytes: 0,
  tiers: [],
});

/**
 * The way of a read that no tier can serve, and the decision what to keep. `Hierarchy` asks, `@tiered/tiering`
 * implements; this contract is all that the two know of each other.
 */
export interface Placement {
  /** Whether `hit` is to be called: where placing depends on what is read from tiers. */
  readonly seesHits: boolean;
  /**
   * Called when the hierarchy is made.
   * @throws TieredError `TIERED_CONFIG_INVALID` for tiers that cannot work with it.
   */
  assertTiers(tiers: readonly Tier[]): void;
  /** Called once, after the drivers are open and before the first read. */
  start(host: PlacementHost, options: OperationOptions): Promise<void>;
  /**
   * Bytes of an object that has to come from the source, exactly `length` of them. The range was checked against the
   * object's size, and is not empty. May place the object as a side effect.
   * @throws TieredError `TIERED_SOURCE_CHANGED` if the source has another object by now.
   */
  read(object: ObjectRef, offset: number, length: number, options: OperationOptions): Promise<Uint8Array>;
  /**
   * As `read`, into the caller's memory: all of the target, which is not empty. The target is the caller's again when
   * this has settled, also if it was aborted.
   */
  readInto(object: ObjectRef, offset: number, target: Uint8Array, options: OperationOptions): Promise<void>;
  /**
   * Many `readInto` at once; outcome i is that of read i, and its bytes are all of the target. Rejects only if it is
   * aborted or closed.
   */
  readMany(reads: readonly PlacementRead[], options: OperationOptions): Promise<readonly ReadOutcome[]>;
  /** Places an object now, and resolves to its level: the source's, if no tier takes it. */
  place(object: ObjectRef, options: OperationOptions): Promise<number>;
  /** The copy of this object is not to be served any more; the namespace points to the source again already. */
  lost(object: ObjectRef, level: number, reason: DropReason): void;
  /** A tier served a read of this object. */
  hit(id: number, level: number): void;
  /** Resolves when nothing is being placed. */
  idle(options: OperationOptions): Promise<void>;
  stats(): PlacementStats;
  /** Stops everything, waits until it has stopped, and holds nothing afterwards. Idempotent. */
  close(): Promise<void>;
}

/** The error of a source that gave fewer bytes than the size it had announced. */
export function sourceChanged(
  source: StorageDriver,
  key: string,
  range: { readonly offset: number; readonly got: number; readonly wanted: number },
): TieredError {
  return new TieredError(
    'TIERED_SOURCE_CHANGED',
    `${source.name}: ${JSON.stringify(key)} gave ${range.got} bytes at offset ${range.offset} where its size promised ` +
      `${range.wanted}; it was changed since it was listed.`,
    { driver: source.name, operation: 'read', key },
  );
}
