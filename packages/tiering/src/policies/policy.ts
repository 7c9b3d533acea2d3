/** An object that may be placed. */
export interface PlacementCandidate {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  /** Bytes of a chunk of the object, the minimum that a tier takes; for a small object, its size. */
  readonly chunkBytes: number;
}

/** A tier that is in service for writing. It may be full: check `freeBytes`. */
export interface TierRoom {
  /** 0 is the fastest. */
  readonly level: number;
  readonly quotaBytes: number;
  /** Quota minus copies, and minus claims for copies in flight. */
  readonly freeBytes: number;
}

/**
 * Decides where objects live. The functions of a policy are pure: they see only their arguments, keep no
 * state, and may be called at any time, so a policy is tested by calling it. The `PlacementHandler` keeps the
 * state that policies need, such as how recently an object was read.
 */
export interface PlacementPolicy {
  /** The name in messages and configuration files. */
  readonly name: string;
  /**
   * Returns the level to place an object on, or undefined to leave it in the source. Called for every read
   * that no tier could serve. `tiers` is ordered fastest first, and omits tiers that are out of service for
   * writing. A level with room for a chunk, but not for the whole object, takes as much of its beginning as
   * fits. Choosing a level without room for a chunk is a bug in the policy, and throws.
   */
  readonly place: (object: PlacementCandidate, tiers: readonly TierRoom[]) => number | undefined;
  /**
   * Returns the level to move an object to after `level` served a read of it, or undefined to leave it there.
   * `tiers` has only faster levels with room for the whole object. Default: nothing is ever moved.
   */
  readonly promote?: (
    object: PlacementCandidate & { readonly level: number },
    tiers: readonly TierRoom[],
  ) => number | undefined;
  /**
   * Called with the number of tiers when a hierarchy is created. Default: any number is accepted.
   * @throws TieredError `TIERED_CONFIG_INVALID` if the policy names a level that does not exist.
   */
  readonly assertLevels?: ((tiers: number) => void) | undefined;
  /**
   * Whether a full tier evicts copies, least recently read first. Packed copies are evicted together with
   * others of their segment. Default: nothing is ever evicted.
   */
  readonly evicts?: boolean | undefined;
}

/** Whether a level has room for the whole object. */
export function fits({ size }: PlacementCandidate, { freeBytes }: TierRoom): boolean {
  return freeBytes >= size;
}

/** Whether a level has room for the beginning of an object. */
function fitsInPart({ size, chunkBytes }: PlacementCandidate, { freeBytes }: TierRoom): boolean {
  return size > chunkBytes && freeBytes >= chunkBytes;
}

/** The first level with room for the whole object, else the first with room for a part. */
export function firstWithRoom(object: PlacementCandidate, tiers: readonly TierRoom[]): number | undefined {
  const tier = tiers.find((one) => fits(object, one)) ?? tiers.find((one) => fitsInPart(object, one));
  return tier?.level;
}
