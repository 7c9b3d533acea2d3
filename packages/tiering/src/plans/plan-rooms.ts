import { Random } from '@tiered/core';
import type { PlanRoom } from './frequency-plan.js';
import { tierSpaces, type SpaceObject, type SpaceOptions } from './tier-space.js';

/** Objects by number, as in the namespace of a `Hierarchy`. */
export interface NumberedObjects {
  /** The number of objects. They are numbered from 0. */
  readonly count: number;
  /** Whether an object exists. */
  isKnown(id: number): boolean;
  /** Its key. */
  keyOf(id: number): string;
  /** Its size in bytes. */
  sizeOf(id: number): number;
  /** Its version, which tells its content from other content of the same size. */
  versionOf(id: number): string;
}

function objectOf(objects: NumberedObjects, id: number): SpaceObject {
  return { key: objects.keyOf(id), size: objects.sizeOf(id), version: objects.versionOf(id) };
}

/**
 * Makes the rooms of tiers for `frequencyPlan`, so that a plan takes only samples that fit. The number of a
 * sample is the number of its object. For one plan.
 */
export async function roomsOf(tiers: readonly SpaceOptions[], objects: NumberedObjects): Promise<PlanRoom[]> {
  const spaces = await tierSpaces(tiers);
  return spaces.map((space) => ({ take: (id) => space.take(objectOf(objects, id)) }));
}

/**
 * Returns the bytes of objects that fit on each tier, if large and small objects come in a random order and
 * each goes to the first tier with room. O(objects x tiers).
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
