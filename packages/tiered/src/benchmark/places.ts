import { Random, type ObjectStat, type StorageDriver } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { initialProducersOf, type CalibrationProfile } from '@tiered/simulator/calibration';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isRam, type ExaminedLevel } from '../configuration/levels.js';
import { driverBound, fileBound, memoryBound, type Measuring } from './bounds.js';
import type { Bound, PlaceResult } from './result.js';
import type { Twin } from './twins.js';

/** Objects that are listed at most: a listing of millions would take all the time. */
const MOST_LISTED = 10_000;

/** Objects of a source that are not empty, from the beginning of its listing, in an order by the seed. */
export async function objectsOf(
  source: StorageDriver,
  seed: number,
  signal: AbortSignal,
): Promise<ObjectStat[]> {
  const objects: ObjectStat[] = [];
  for await (const page of source.list({ signal })) {
    objects.push(...page.filter(({ size }) => size > 0));
    if (objects.length >= MOST_LISTED) break;
  }
  if (objects.length === 0) throw configError('source', 'objects that are not empty', source.name);
  return Array.from(new Random(seed).permutation(objects.length)).flatMap((i) => objects[i] ?? []);
}

/** Takes objects up to a number of bytes, in their order: the smallest if all others are too large. */
export function someOf(objects: readonly ObjectStat[], bytes: number): ObjectStat[] {
  let left = bytes;
  const some = objects.filter(({ size }) => {
    if (size > left) return false;
    left -= size;
    return true;
  });
  if (some.length > 0) return some;
  const [first] = objects;
  if (first === undefined) return [];
  return [objects.reduce((smallest, object) => (object.size < smallest.size ? object : smallest), first)];
}

/** What was measured of a place, beside its bound. */
export function placeOf(
  level: Pick<ExaminedLevel, 'name' | 'place' | 'quotaBytes' | 'fields'>,
  profile: CalibrationProfile['source'],
  bound: Bound,
): PlaceResult {
  const { name, place, quotaBytes, fields } = level;
  const spreads = Object.values(profile.spread ?? {}).filter((spread) => spread !== undefined);
  return {
    name,
    kind: quotaBytes === undefined ? 'source' : isRam(level) ? 'memory' : 'files',
    place,
    read: profile.read.points,
    best: bestOf(profile),
    filling: profile.place && Math.max(...profile.place.points.map(([, rate]) => rate)),
    bound,
    heldBack: heldBackBy(fields),
    spread: Math.max(bound.spread, ...spreads),
  };
}

function heldBackBy(fields: ExaminedLevel['fields']): PlaceResult['heldBack'] {
  if (fields['throttle'] !== undefined) return 'throttle';
  if (fields['limit'] !== undefined) return 'limit';
  return fields['layout'] === 'packed' ? 'packed' : undefined;
}

/** The fewest reads at a time that give nearly the most. */
export function bestOf(place: CalibrationProfile['source']): PlaceResult['best'] {
  const atATime = initialProducersOf({ version: 1, objectBytes: 1, source: place, tiers: [] });
  return { atATime, MBps: place.read.points.find(([n]) => n === atATime)?.[1] ?? 0 };
}

/** Its driver alone; or its files where that is more, and the configuration does not hold the driver back. */
export async function boundOfSource(
  { directory, fields }: ExaminedLevel,
  driver: StorageDriver,
  sample: readonly ObjectStat[],
  atATime: number,
  measuring: Measuring,
): Promise<Bound> {
  const alone = await driverBound(driver, sample, atATime, measuring);
  const { location = '' } = driver;
  // Else keys are no paths below a directory.
  if (directory === undefined || heldBackBy(fields) !== undefined || !/^file:\/\/.*\/$/.test(location))
    return alone;
  const files = await fileBound(location.slice('file://'.length), sample, measuring);
  return files.MBps > alone.MBps ? files : alone;
}

/** Memory, or files of the same sizes on the same file system. */
export async function boundOfTier(
  { scratch, quotaBytes }: Twin,
  sample: readonly ObjectStat[],
  measuring: Measuring,
): Promise<Bound> {
  if (scratch === undefined) return memoryBound(sample, measuring);
  const files = someOf(sample, Math.max(quotaBytes, sample[0]?.size ?? 0)).map(({ size }, i) => ({
    key: `${i}`,
    size,
    version: '',
  }));
  await mkdir(scratch, { recursive: true });
  try {
    for (const { key, size } of files) {
      measuring.signal.throwIfAborted();
      await writeFile(path.join(scratch, key), new Uint8Array(size).fill(1));
    }
    return await fileBound(scratch, files, measuring);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
