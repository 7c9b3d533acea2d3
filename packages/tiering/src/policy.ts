/** An object that may be placed. */
export interface PlacementCandidate {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
}

/** A tier that accepts objects at this moment. */
export interface TierRoom {
  /** 0 is the fastest. */
  readonly level: number;
  readonly quotaBytes: number;
  /** Quota less published objects and objects on their way. */
  readonly freeBytes: number;
}

/**
 * Decides where an object is to live: the level, or undefined to leave it in the source. A pure function, called for
 * every read that no tier could serve; tiers come fastest first, without those that are out of service for writing.
 * A level without room for the object is a bug of the policy and throws.
 */
export type PlacementPolicy = (object: PlacementCandidate, tiers: readonly TierRoom[]) => number | undefined;

/**
 * The first level with room, and nothing is ever evicted (MONARCH, CCGrid'22, section III-A). Every object is read
 * once an epoch, so eviction could only trade one object's source reads for another's and add the copying. An object
 * that fits nowhere does not keep smaller ones from being placed.
 */
export const firstFit: PlacementPolicy = ({ size }, tiers) =>
  tiers.find(({ freeBytes }) => freeBytes >= size)?.level;
