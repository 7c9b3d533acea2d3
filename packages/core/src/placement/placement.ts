import type { Clock } from '../support/clock.js';
import type { Operation, OperationOptions, ReadOutcome, StorageDriver } from '../driver/driver.js';
import { TieredError } from '../support/errors.js';
import type { Namespace } from '../namespace/metadata-container.js';
import type { ObjectRef } from '../namespace/object-ref.js';
import type { Tier, TierUse } from '../tier/tier.js';
import type { TracedOptions } from '../tracing/operation.js';

/**
 * What to do when an object in the source has changed since it became known.
 * - `refresh` takes the new object, and drops the copies of the old one.
 * - `pin` keeps the first known version, so that an epoch sees one state of the dataset. A read that meets
 *   another version fails.
 * - `ignore` trusts that equal sizes mean equal content. Another version only makes it check the size.
 *
 * With each of them, copies on tiers are compared with the source when it is listed, and not at each read.
 */
export type VersionPolicy = 'refresh' | 'pin' | 'ignore';

/** The place of a copy of an object, for the read path. */
export interface CopyPlace {
  readonly level: number;
  /** Whether the copy is complete and trusted. Reads then go to the tier without asking the placement. */
  readonly direct: boolean;
  /**
   * The suffix of the key in the copy's name on the tier (see `copyName`), or the location of the copy (see
   * `packedTag`). Undefined if the name is the key.
   */
  readonly tag: number | undefined;
}

/** The reason why a copy is no longer served. */
export type DropReason = 'damaged' | 'missing' | 'outdated' | 'evicted' | 'removed';

/** The part of a `Hierarchy` that its placement sees. */
export interface PlacementHost {
  /** The name of the hierarchy, for traces. */
  readonly name: string;
  readonly namespace: Namespace;
  /** Whether the namespace holds every object of the source. */
  readonly complete: boolean;
  /** Fastest first. Includes tiers that could not be opened; see `openTier`. */
  readonly tiers: readonly Tier[];
  /** For reading only. */
  readonly source: StorageDriver;
  readonly versions: VersionPolicy;
  readonly clock: Clock;
  /** Opens the driver of a tier that could not be opened at start. Does nothing if it is open. */
  openTier(tier: Tier, options: OperationOptions): Promise<void>;
  /** The version that a read of the source must ask for, given the known version of the object. */
  versionToAskFor(version: string): string | undefined;
  /** Serves the object, or the part of it that this copy holds, from this copy from now on. */
  publish(id: number, place: CopyPlace): void;
  /** Returns the tag of the copy that an object is served from. */
  tagOf(id: number): number | undefined;
  /** Serves the object from the source from now on. */
  withdraw(id: number): void;
  /** Announces a new copy. */
  placed(object: ObjectRef, level: number, bytes: number): void;
  /** Announces that a copy was dropped. */
  dropped(key: string, level: number, reason: DropReason): void;
  /** Announces that an object could not be placed. Nothing is lost but speed. */
  placementFailed(object: ObjectRef, level: number, error: unknown): void;
  /** Reports that a tier failed. The fault is counted, announced, and counts against the tier's health. */
  tierFault(tier: Tier, operation: Operation, key: string, error: unknown): void;
  /** Reports that an operation of a tier succeeded. */
  tierWorked(tier: Tier, use: TierUse): void;
  /** Reports that a tier served a read of so many bytes. */
  tierServed(tier: Tier, bytes: number): void;
  /** Reports that a tier has copies of data that was replaced at the place of the source. */
  sourceReplaced(tier: Tier): void;
  /**
   * Reports that the storage of a tier was full before its quota was used up. The tier holds at most this
   * many bytes from now on.
   */
  tierShrunk(tier: Tier, quotaBytes: number): void;
}

/** The activity of a placement so far, and its state at this moment. */
export interface PlacementStats {
  /** Requests to the source, and the bytes they brought. */
  readonly sourceReads: number;
  readonly sourceBytes: number;
  /**
   * Reads that were served, each counted once. `copyReads`: from copies on tiers alone. `ownReads`: after
   * waiting for their own request to the source, or for a fetch that they started. `joinedReads`: after
   * waiting only for bytes that another request had already asked for.
   */
  readonly copyReads: number;
  readonly ownReads: number;
  readonly joinedReads: number;
  /** Objects, or beginnings of objects, that were placed on a tier. */
  readonly placed: number;
  /** Copies that were adopted from an earlier process, or from another one. */
  readonly adopted: number;
  /** Copies that were dropped because a chunk was missing, or differed from the written one. */
  readonly damaged: number;
  /** Copies that were dropped because the source has another version. */
  readonly outdated: number;
  /**
   * Copies that were evicted, if the policy evicts; and copies that moved to a faster tier, if it promotes.
   */
  readonly evicted: number;
  readonly promoted: number;
  /** Reads that started no fill because no tier had room for the object, or no tier admitted it. */
  readonly declined: number;
  /**
   * Reads that started no fill because the tier was behind: memory was full of bytes still to be written, too
   * many fills were in flight, or an older copy was still being deleted. Most of these objects are placed
   * later.
   */
  readonly behind: number;
  /** Chunks for readers that had to wait for memory until tiers had written some of its content. */
  readonly waited: number;
  /** Objects whose placement failed. */
  readonly failed: number;
  /** Fetches in flight, and the bytes of memory they hold. */
  readonly fetching: number;
  readonly fetchingBytes: number;
  /**
   * Per tier: bytes of copies, bytes reserved for copies in flight, and bytes that it may hold, over all
   * processes that share it.
   */
  readonly tiers: readonly {
    readonly usedBytes: number;
    readonly reservedBytes: number;
    readonly quotaBytes: number;
  }[];
}

/**
 * The bytes that a hierarchy holds on a level that others fill too, and their bound. It counts the copies
 * that the hierarchy has placed since it was first asked for this, and those in flight; not those of others.
 */
export interface LevelHold {
  /** Bytes of those copies. A removed copy stops counting once it must no longer be served. */
  readonly heldBytes: number;
  /** Size in bytes of the largest copy that the level has room for, whatever the bound. */
  readonly freeBytes: number;
  /**
   * From now on, places nothing on the level that would raise its holdings above so many bytes. Existing
   * copies stay. `Infinity`: no bound, as at first.
   */
  keepTo(bytes: number): void;
  /**
   * Evicts counted copies of at least so many bytes, if there are that many. The policy's first candidates go
   * first, or the most recently placed copies if the policy evicts nothing.
   */
  giveBack(bytes: number): void;
}

/** One read of a batch. It fills the whole target, which is not empty, from an offset of an object. */
export interface PlacementRead {
  readonly object: ObjectRef;
  readonly offset: number;
  readonly target: Uint8Array;
  /** As `ReadRequest.pieces`. */
  readonly pieces?: Float64Array | undefined;
}

/** The statistics of a placement that has done nothing. */
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
 * Serves the reads that no tier can serve, and decides what to keep. `Hierarchy` calls it, and
 * `@tiered/tiering` implements it. This contract is all that the two know of each other.
 */
export interface Placement {
  /** Whether `hit` must be called, because the placement depends on the reads that tiers serve. */
  readonly seesHits: boolean;
  /**
   * Checks the tiers. Called when the hierarchy is constructed.
   * @throws TieredError `TIERED_CONFIG_INVALID` for tiers that cannot work with it.
   */
  assertTiers(tiers: readonly Tier[]): void;
  /** Starts the placement. Called once, after the drivers are open and before the first read. */
  open(host: PlacementHost, options: OperationOptions): Promise<void>;
  /**
   * Reads exactly `length` bytes of an object that must come from the source. The range was checked against
   * the object's size, and is not empty. May place the object as a side effect.
   * @param options If `onServed` is given, it is called when the read has been served, and before it settles.
   * @throws TieredError `TIERED_SOURCE_CHANGED` if the source has another object by now.
   */
  read(object: ObjectRef, offset: number, length: number, options: TracedOptions): Promise<Uint8Array>;
  /**
   * As `read`, into the caller's memory. Fills the whole target, which is not empty. The target is the
   * caller's again once this has settled, even if it was aborted.
   */
  readInto(object: ObjectRef, offset: number, target: Uint8Array, options: TracedOptions): Promise<void>;
  /**
   * Makes many `readInto` calls at once. Outcome i belongs to read i, and its bytes are the length of the
   * target. `onServed` is called for each read. Rejects only if it is aborted or closed.
   */
  readMany(reads: readonly PlacementRead[], options: TracedOptions): Promise<readonly ReadOutcome[]>;
  /** Places an object now, and resolves to its level, which is the source's if no tier admits it. */
  place(object: ObjectRef, options: OperationOptions): Promise<number>;
  /**
   * Reports that the copy of this object must no longer be served. The namespace already points to the source
   * again.
   */
  lost(object: ObjectRef, level: number, reason: DropReason): void;
  /** Reports that a tier served a read of this object. */
  hit(id: number, level: number): void;
  /** Resolves when nothing is being placed. */
  idle(options: OperationOptions): Promise<void>;
  /** Returns the activity so far, and the state at this moment. */
  stats(): PlacementStats;
  /**
   * Returns its holdings on a level, for a component that shares the level out. Without this method, a level
   * cannot be shared out.
   */
  hold?(level: number): LevelHold;
  /** Stops everything, waits until all work has stopped, and holds nothing afterwards. Idempotent. */
  close(): Promise<void>;
}

/** Makes the error of a source that returned fewer bytes than the size it had announced. */
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
