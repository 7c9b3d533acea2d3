import type { Operation, OperationOptions, StorageDriver } from './driver.js';
import { TieredError } from './errors.js';
import type { Namespace } from './metadata-container.js';
import type { Tier } from './tier.js';

/** What a `Hierarchy` lends to its placement. */
export interface PlacementHost {
  readonly namespace: Namespace;
  /** Fastest first. */
  readonly tiers: readonly Tier[];
  /** Only to be read. */
  readonly source: StorageDriver;
  /** From now on the whole object is served from this level. */
  publish(id: number, level: number): void;
  /** An object could not be placed; nothing is lost but speed. */
  placementFailed(id: number, level: number, error: unknown): void;
  /** A write to a tier failed: counted, announced, and held against the tier's health. */
  tierFault(tier: Tier, operation: Operation, key: string, error: unknown): void;
  /** A write to a tier succeeded. */
  tierWorked(tier: Tier): void;
}

/** What a placement did so far, and what it holds at this moment. */
export interface PlacementStats {
  /** Requests to the source, and the bytes they brought. */
  readonly sourceReads: number;
  readonly sourceBytes: number;
  /** Reads answered by a fetch that another read had started. */
  readonly joinedReads: number;
  /** Objects published on a tier. */
  readonly placed: number;
  /** Reads that did not begin to place their object: no tier had room or took it, or memory was short. */
  readonly declined: number;
  /** Objects that were to be placed and could not be. */
  readonly failed: number;
  /** Fetches under way now, and the bytes of memory they hold. */
  readonly fetching: number;
  readonly fetchingBytes: number;
  /** Per tier: bytes of published objects, and bytes promised to objects on their way. */
  readonly tiers: readonly { readonly usedBytes: number; readonly reservedBytes: number }[];
}

/**
 * The way of a read that no tier can serve, and the decision what to keep. `Hierarchy` asks, `@tiered/tiering`
 * implements; this contract is all that the two know of each other.
 */
export interface Placement {
  /** Called once, after the drivers are open and before the first read. */
  start(host: PlacementHost, options: OperationOptions): Promise<void>;
  /**
   * Bytes of an object that has to come from the source, exactly `length` of them (the range was checked against the
   * known size, and is not empty). May place the object as a side effect.
   */
  read(id: number, offset: number, length: number, options: OperationOptions): Promise<Uint8Array>;
  /** Places an object now, and resolves to its level: the source's, if no tier takes it. */
  place(id: number, options: OperationOptions): Promise<number>;
  /** The copy on this level is gone or cannot be trusted; the namespace points to the source again already. */
  lost(id: number, level: number): void;
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
      `${range.wanted}; it was changed since it was listed. The next read looks at it anew.`,
    { driver: source.name, operation: 'read', key, retryable: true },
  );
}
