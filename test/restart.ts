import { systemClock, type Hierarchy, type Random, type TierFault } from '@tiered/core';
import { assertNothingHeld } from '@tiered/core/testing';
import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { indexContents } from './index-contents.js';
import { bytesOf, diskUsage, hierarchyOf, objectsOf, readEpoch, tierOf, type Place } from './training.js';

/** Has the tiers of a place be what those of its clone are. */
export function restoreFrom(clone: Place, place: Place): void {
  for (const level of place.quotas.keys()) {
    fs.rmSync(tierOf(place, level), { recursive: true, force: true });
    if (fs.existsSync(tierOf(clone, level))) fs.renameSync(tierOf(clone, level), tierOf(place, level));
  }
}

/** The same dataset, and tiers of their own that are as those of a place are now. */
export function cloneOf(place: Place, name: string): Place {
  const dataset = path.join('..', place.dataset ?? 'source');
  const clone = { ...place, directory: path.join(place.directory, name), dataset };
  for (const level of place.quotas.keys()) {
    fs.rmSync(tierOf(clone, level), { recursive: true, force: true });
    if (!fs.existsSync(tierOf(place, level))) continue;
    // Sockets are not copied: in a clone nobody runs.
    const filter = (file: string) => !fs.lstatSync(file).isSocket();
    const options = { recursive: true, preserveTimestamps: true, filter };
    fs.cpSync(tierOf(place, level), tierOf(clone, level), options);
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
  await hierarchy.open();
  return { hierarchy, brought, faults, dropped };
}

/** What is in the index of a tier, and on it, at one moment. */
async function look(place: Place, hierarchy: Hierarchy, level: number) {
  const { knows, unfinished } = await indexContents(place, level);
  const { copies, temporary, ...disk } = diskUsage(tierOf(place, level));
  const { usedBytes = 0, reservedBytes } = hierarchy.stats().tiers[level] ?? {};
  const unknown = copies.filter((name) => !knows(name));
  return { ...disk, usedBytes, held: { reservedBytes, temporary, unfinished, unknown } };
}

/**
 * As `look`, between two tries to place what tiers could not take before: what is left over stays, and is
 * seen.
 */
async function lookInPeace(place: Place, hierarchy: Hierarchy, level: number) {
  for (let looks = 1; ; looks++) {
    const seen = await look(place, hierarchy, level);
    const { reservedBytes, temporary, unfinished, unknown } = seen.held;
    // Index and disk are looked at one after the other: a copy that comes in between is unknown, and one
    // more than there are names.
    const counts = [reservedBytes, temporary.length, unfinished, unknown.length];
    if (looks === LOOKS || counts.every((count) => count === 0)) return seen;
    await systemClock.sleep(20 * looks);
  }
}

/**
 * Nothing is reserved or temporary, quotas hold, and nothing is on the disk that is not known. Returns the
 * bytes on the tiers.
 */
async function expectClean(place: Place, hierarchy: Hierarchy, when: string, grown = 0): Promise<number> {
  let sum = 0;
  for (const [level, quota] of place.quotas.entries()) {
    const { bytes, diskBytes, usedBytes, held } = await lookInPeace(place, hierarchy, level);
    expect(held, `tier ${level} ${when}`).toEqual({
      reservedBytes: 0,
      temporary: [],
      unfinished: 0,
      unknown: [],
    });
    expect(usedBytes, `tier ${level} ${when}: bytes against the quota`).toBeLessThanOrEqual(quota);
    expect(diskBytes - grown, `tier ${level} ${when}: the disk against the quota`).toBeLessThanOrEqual(quota);
    // Less than is known is there if a copy was deleted and that was not said: it is found missing when it is
    // read.
    expect(bytes - grown, `tier ${level} ${when}: bytes against what is known`).toBeLessThanOrEqual(
      usedBytes,
    );
    sum += bytes;
  }
  return sum;
}

/** Looks at a tier before what is left over there counts as that. */
const LOOKS = 8;

/**
 * Rounds over what found no room before it counts as full: room that is first to be asked for takes
 * milliseconds.
 */
const ROUNDS = 12;

/** Places what has room, one object after the other. */
export async function fillTiers(
  place: Pick<Place, 'quotas'>,
  hierarchy: Hierarchy,
  keys: Iterable<string>,
): Promise<void> {
  let left = [...keys];
  for (let round = 0; round < ROUNDS && left.length > 0; round++) {
    await systemClock.sleep(2 * round);
    const declined: string[] = [];
    for (const key of left) if ((await hierarchy.place(key)) >= place.quotas.length) declined.push(key);
    left = declined;
  }
  await hierarchy.idle();
}

/** What became of a dataset after a restart: tiers were filled, and two epochs read. */
export interface Epochs {
  /** Bytes on the tiers at the start, when they were filled, and after an epoch. */
  readonly found: number;
  readonly filled: number;
  readonly held: number;
  /** Bytes that filling the tiers and each epoch brought from the source. */
  readonly brought: readonly [number, number, number];
}

/**
 * Fills the tiers and reads the whole dataset twice, each byte as in the source; ends with everything closed,
 * and nothing left behind.
 * @param grown Bytes by which another program made copies longer: that is found when they are read.
 */
export async function expectTrains(
  place: Place,
  { hierarchy, brought }: Restart,
  random: Random,
  grown = 0,
): Promise<Epochs> {
  const objects = objectsOf(place);
  await hierarchy.idle();
  const found = await expectClean(place, hierarchy, 'after start', grown);
  await fillTiers(place, hierarchy, objects.keys());
  const filled = await expectClean(place, hierarchy, 'when filled', grown);
  const filling = brought();
  await readEpoch(hierarchy, objects, random);
  await hierarchy.idle();
  const first = brought();
  const held = await expectClean(place, hierarchy, 'after an epoch');
  await readEpoch(hierarchy, objects, random, { readers: 1 });
  await hierarchy.idle();
  const second = brought();
  await hierarchy.close();
  await expectClean(place, hierarchy, 'after close');
  assertNothingHeld(hierarchy.stats());
  return { found, filled, held, brought: [filling, first - filling, second - first] };
}

/**
 * What tiers held did not have to be brought, and nothing was brought twice; so it is where nothing is ever
 * evicted.
 */
export function expectNothingTwice(place: Place, { found, filled, held, brought }: Epochs): void {
  const bytes = bytesOf(objectsOf(place));
  expect(brought, 'bytes brought by filling and by each epoch').toEqual([
    filled - found,
    bytes - filled,
    bytes - held,
  ]);
}
