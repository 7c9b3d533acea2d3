import { Random } from '@tiered/core';
import type { PlanRoom } from './frequency-plan.js';
import { tierSpaces, type SpaceObject, type SpaceOptions } from './tier-space.js';

/** Objects by number, as a `Hierarchy`'s namespace has them. */
export interface NumberedObjects {
  /** Objects; their numbers are those below. */
  readonly count: number;
  /** Whether an object is there. */
  isKnown(id: number): boolean;
  /** Its key. */
  keyOf(id: number): string;
  /** Its size in bytes. */
  sizeOf(id: number): number;
  /** What tells its content from another one of the same size. */
  versionOf(id: number): string;
}

function objectOf(objects: NumberedObjects, id: number): SpaceObject {
  return { key: objects.keyOf(id), size: objects.sizeOf(id), version: objects.versionOf(id) };
}

/**
 * The rooms of tiers for `frequencyPlan`, where the number of a sample is that of its object: so a plan takes
 * what the tiers have room for. Made for one plan.
 */
export async function roomsOf(tiers: readonly SpaceOptions[], objects: NumberedObjects): Promise<PlanRoom[]> {
  const spaces = await tierSpaces(tiers);
  return spaces.map((space) => ({ take: (id) => space.take(objectOf(objects, id)) }));
}

/**
 * The bytes of objects that find room on each of some tiers, if any of them come, large and small, and each
 * goes to the first tier that has room. O(objects x tiers).
 */
export async function bytesWithRoom(
  tiers: readonly SpaceOptions[],
  objects: NumberedObjects,
): Promise<number[]> {
  const rooms = await roomsOf(tiers, objects);
  const bytes = rooms.map(() => 0);
  for (const id of new Random(0).permutation(objects.count)) {
    if (!objects.isKnown(id)) continue;
    const level = rooms.findIndex((room) => room.take(id));
    if (level !== -1) bytes[level] = (bytes[level] ?? 0) + objects.sizeOf(id);
  }
  return bytes;
}
