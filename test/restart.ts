import type { Hierarchy, HierarchyStats, Random, TierFault } from '@tiered/core';
import { assertNothingHeld } from '@tiered/core/testing';
import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { bytesOf, diskUsage, hierarchyOf, objectsOf, readEpoch, tierOf, type Place } from './training.js';

/** The same dataset, and tiers of their own that are as those of a place are now. */
export function cloneOf(place: Place, name: string): Place {
  const dataset = path.join('..', place.dataset ?? 'source');
  const clone = { ...place, directory: path.join(place.directory, name), dataset };
  for (const level of place.quotas.keys()) {
    fs.rmSync(tierOf(clone, level), { recursive: true, force: true });
    if (!fs.existsSync(tierOf(place, level))) continue;
    fs.cpSync(tierOf(place, level), tierOf(clone, level), { recursive: true, preserveTimestamps: true });
  }
  return clone;
}

/** What a start on a place found, told by its hierarchy. */
export interface Restart {
  readonly hierarchy: Hierarchy;
  readonly brought: () => number;
  readonly faults: TierFault[];
  readonly dropped: string[];
}

/** Starts on what is there. */
export async function restart(place: Place): Promise<Restart> {
  const { hierarchy, brought } = hierarchyOf(place);
  const faults: TierFault[] = [];
  const dropped: string[] = [];
  hierarchy.on('tierFault', (fault) => faults.push(fault));
  hierarchy.on('dropped', ({ key, reason }) => dropped.push(`${key} ${reason}`));
  await hierarchy.start();
  return { hierarchy, brought, faults, dropped };
}

/** Nothing is reserved or temporary, quotas hold, and nothing is on the disk that is not known. Returns the bytes on the tiers. */
function expectClean(place: Place, { tiers }: HierarchyStats, when: string, grown = 0): number {
  let sum = 0;
  for (const [level, quota] of place.quotas.entries()) {
    const { bytes, temporary } = diskUsage(tierOf(place, level));
    const { usedBytes = 0, reservedBytes } = tiers[level] ?? {};
    expect({ reservedBytes, temporary }, `tier ${level} ${when}`).toEqual({
      reservedBytes: 0,
      temporary: [],
    });
    expect(usedBytes, `tier ${level} ${when}: bytes against the quota`).toBeLessThanOrEqual(quota);
    // Less than is known is there if a copy was deleted and that was not said: it is found missing when it is read.
    expect(bytes - grown, `tier ${level} ${when}: bytes against what is known`).toBeLessThanOrEqual(
      usedBytes,
    );
    sum += bytes;
  }
  return sum;
}

/** Two epochs after a restart, and the end of it. */
export interface Epochs {
  /** Bytes on the tiers at the start, and after an epoch. */
  readonly found: number;
  readonly held: number;
  /** Bytes that each epoch brought from the source. */
  readonly brought: readonly [number, number];
}

/**
 * Reads the whole dataset twice, each byte as in the source; ends with everything closed, and nothing left behind.
 * @param grown Bytes by which another program made copies longer: that is found when they are read.
 */
export async function expectTrains(
  place: Place,
  { hierarchy, brought }: Restart,
  random: Random,
  grown = 0,
): Promise<Epochs> {
  const objects = objectsOf(place);
  const found = expectClean(place, hierarchy.stats(), 'after start', grown);
  await readEpoch(hierarchy, objects, random);
  await hierarchy.idle();
  const first = brought();
  const held = expectClean(place, hierarchy.stats(), 'after an epoch');
  await readEpoch(hierarchy, objects, random, { readers: 1 });
  await hierarchy.idle();
  await hierarchy.close();
  expectClean(place, hierarchy.stats(), 'after close');
  assertNothingHeld(hierarchy.stats());
  return { found, held, brought: [first, brought() - first] };
}

/** What tiers held did not have to be brought, and nothing was brought twice; so it is where nothing is ever evicted. */
export function expectNothingTwice(place: Place, { found, held, brought }: Epochs): void {
  const bytes = bytesOf(objectsOf(place));
  expect(brought, 'bytes brought by each epoch').toEqual([bytes - found, bytes - held]);
}
