/** An object that may be placed. */
export interface PlacementCandidate {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  /** Bytes of a chunk of it, which is what a tier takes at least: all of a small object. */
  readonly chunkBytes: number;
}

/** A tier that accepts objects at this moment. */
export interface TierRoom {
  /** 0 is the fastest. */
  readonly level: number;
  readonly quotaBytes: number;
  /** Quota less copies and copies on their way. */
  readonly freeBytes: number;
}

/**
 * Decides where objects live. Its functions are pure: they see what they are given, keep nothing, and may be called at
 * any time, so that a policy can be tested by calling it. What has state (how long ago an object was read) is kept by
 * the `PlacementHandler` for the policies that ask for it.
 */
export interface PlacementPolicy {
  /** For messages and configuration files. */
  readonly name: string;
  /**
   * The level that an object is to live on, or undefined to leave it in the source. Called for every read that no tier
   * could serve. Tiers come fastest first, without those that are out of service for writing. A level with room for a
   * chunk and not for all takes as much of the beginning of the object as it can; one without room for a chunk is a bug of the policy, and
   * throws.
   */
  readonly place: (object: PlacementCandidate, tiers: readonly TierRoom[]) => number | undefined;
  /**
   * The level that an object is to move to after a read was served by `level`, or undefined to leave it there. Only
   * faster levels with room for all of it are offered. Default: nothing is ever moved.
   */
  readonly promote?: (
    object: PlacementCandidate & { readonly level: number },
    tiers: readonly TierRoom[],
  ) => number | undefined;
  /**
   * Called when a hierarchy is made, with the number of its tiers. Default: any number will do.
   * @throws TieredError `TIERED_CONFIG_INVALID` for a level that it names and that there is not.
   */
  readonly assertLevels?: ((tiers: number) => void) | undefined;
  /**
   * Whether copies leave a full tier, those first that were not read for longest; where they are packed, with others of their segment.
   * Default: nothing ever leaves.
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
