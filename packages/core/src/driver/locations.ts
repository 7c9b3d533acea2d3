import path from 'node:path';
import type { StorageDriver } from './driver.js';
import { TieredError } from '../support/errors.js';
import { isWithin, placeOf, type Place } from '../support/place.js';

/** The beginning of a directory's location. */
const SCHEME = 'file://';

/** A driver, or anything else with a location. */
type Located = Pick<StorageDriver, 'location'>;

interface Level {
  readonly field: string;
  readonly location: string;
}

/**
 * Refuses levels that share storage. The objects of one would be served, counted and deleted as those of the
 * other, and a tier inside the source would write to the source. A driver without a location shares no
 * storage.
 * @throws TieredError `TIERED_CONFIG_INVALID`, naming both levels.
 */
export function assertApart(
  source: StorageDriver,
  tiers: readonly { readonly driver: StorageDriver }[],
): void {
  const levels = [
    { field: 'source', driver: source },
    ...tiers.map(({ driver }, level) => ({ field: `tiers[${level}]`, driver })),
  ];
  const places: Level[] = [];
  for (const { field, driver } of levels) {
    const { location } = driver;
    if (location === undefined) continue;
    const place = { field, location };
    for (const other of places) {
      if (location.startsWith(other.location)) throw overlap(place, other);
      if (other.location.startsWith(location)) throw overlap(other, place);
    }
    places.push(place);
  }
}

/** Names the fields but not the locations, which may come from the environment. */
function overlap(inner: Level, outer: Level): TieredError {
  const isOne = inner.location === outer.location;
  return refusal(inner.field, isOne ? `is where ${outer.field} is too` : `is inside ${outer.field}`);
}

function refusal(field: string, relation: string): TieredError {
  return new TieredError(
    'TIERED_CONFIG_INVALID',
    `${field}: its storage ${relation}; give each level storage of its own.`,
  );
}

/** A level whose directory was found. */
export interface Found {
  readonly field: string;
  readonly place: Place;
}

/**
 * Finds the directory of a level before the level is opened, because opening a tier creates files there.
 * Undefined if there is no directory, or it cannot be inspected: opening it then says why.
 */
export async function find(field: string, { location }: Located): Promise<Found | undefined> {
  if (location?.startsWith(SCHEME) !== true) return undefined;
  const place = await placeOf(path.resolve(location.slice(SCHEME.length))).catch(() => undefined);
  return place && { field, place };
}

/**
 * Refuses a level whose directory is the same as, inside, or around the directory of another level, whatever
 * links and mounts lead there.
 * @throws TieredError `TIERED_CONFIG_INVALID`, naming both.
 */
export async function assertElsewhere(level: Found, others: readonly Found[]): Promise<void> {
  for (const other of others) {
    const [isInside, isAround] = [
      await isWithin(level.place, other.place),
      await isWithin(other.place, level.place),
    ];
    if (isInside)
      throw refusal(level.field, isAround ? `is where ${other.field} is too` : `is inside ${other.field}`);
    if (isAround) throw refusal(other.field, `is inside ${level.field}`);
  }
}

/**
 * Refuses a manifest inside the source. The source is never written, and the next listing would show the file
 * as one of its objects.
 * @throws TieredError `TIERED_CONFIG_INVALID`, which shows no path, for the same reason as above.
 */
export function assertOutside({ location }: Located, manifest: string): void {
  const file = `${SCHEME}${path.posix.join('/', path.resolve(manifest).replaceAll(path.sep, '/'))}`;
  if (location !== undefined && file.startsWith(location)) throw insideSource('manifest');
}

/**
 * As `assertOutside`, whatever links and mounts lead to the directory that is written to. The directory need
 * not exist.
 */
export async function assertReachedOutside(field: string, source: Located, directory: string): Promise<void> {
  const found = await find('source', source);
  const place = await placeOf(path.resolve(directory)).catch(() => undefined);
  if (found === undefined || place === undefined) return;
  if (await isWithin(place, found.place)) throw insideSource(field);
}

function insideSource(field: string): TieredError {
  return new TieredError(
    'TIERED_CONFIG_INVALID',
    `${field}: it is inside source, which is never written, and where it would become an object; put it beside that directory.`,
  );
}
