/** An object that may be placed. */
export interface PlacementCandidate {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  /** Bytes of a chunk of the object, the least that a tier takes; for a small object, all of it. */
  readonly chunkBytes: number;
}

/** A tier in service for writing. It may have no room: compare `freeBytes`. */
export interface TierRoom {
  /** 0 is the fastest. */
  readonly level: number;
  readonly quotaBytes: number;
  /** Quota less copies, and less claims for copies on their way. */
  readonly freeBytes: number;
}

/**
 * Decides where objects live. The functions of a policy are pure: they see only their arguments, keep
 * nothing, and may be called at any time, so a policy is tested by calling it. State that policies ask for,
 * such as how long ago an object was read, is kept by the `PlacementHandler`.
 */
export interface PlacementPolicy {
  /** The name in messages and configuration files. */
  readonly name: string;
  /**
   * Returns the level that an object is to live on, or undefined to leave it in the source. Called for every
   * read that no tier could serve. Tiers come fastest first, without those that are out of service for
   * writing. A level with room for a chunk, but not for all of the object, takes as much of its beginning as
   * it can. To choose a level without room for a chunk is a bug of the policy, and throws.
   */
  readonly place: (object: PlacementCandidate, tiers: readonly TierRoom[]) => number | undefined;
  /**
   * Returns the level that an object moves to after `level` served a read of it, or undefined to leave it
   * there. Only faster levels with room for all of it are offered. Default: nothing is ever moved.
   */
  readonly promote?: (
    object: PlacementCandidate & { readonly level: number },
    tiers: readonly TierRoom[],
  ) => number | undefined;
  /**
   * Called when a hierarchy is made, with the number of its tiers. Default: any number will do.
   * @throws TieredError `TIERED_CONFIG_INVALID` if the policy names a level that does not exist.
   */
  readonly assertLevels?: ((tiers: number) => void) | undefined;
  /**
   * Whether copies are evicted from a full tier, those first that were not read for longest. Packed copies
   * are evicted together with others of their segment. Default: nothing is ever evicted.
   */
  readonly evicts?: boolean | undefined;
}

/** Whether a level has room for all of an object. */
export function fits({ size }: PlacementCandidate, { freeBytes }: TierRoom): boolean {
  return freeBytes >= size;
}

/** Whether a level has room for a beginning of an object. */
function fitsInPart({ size, chunkBytes }: PlacementCandidate, { freeBytes }: TierRoom): boolean {
  return size > chunkBytes && freeBytes >= chunkBytes;
}

/** The first level with room for all of an object, else the first with room for a part. */
export function firstWithRoom(object: PlacementCandidate, tiers: readonly TierRoom[]): number | undefined {
  const tier = tiers.find((one) => fits(object, one)) ?? tiers.find((one) => fitsInPart(object, one));
  return tier?.level;
}
