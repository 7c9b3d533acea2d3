import path from 'node:path';
import type { StorageDriver } from './driver.js';
import { TieredError } from '../support/errors.js';

interface Place {
  readonly field: string;
  readonly location: string;
}

/**
 * Refuses levels that share storage. The objects of one would be served, counted and deleted as those of the
 * other, and a tier inside the source would write to the source. A driver without a location shares storage
 * with no other.
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
  const places: Place[] = [];
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

/** Names the fields, and not the locations, which may come from the environment. */
function overlap(inner: Place, outer: Place): TieredError {
  const relation =
    inner.location === outer.location ? `is where ${outer.field} is too` : `is inside ${outer.field}`;
  return new TieredError(
    'TIERED_CONFIG_INVALID',
    `${inner.field}: its storage ${relation}; give each level storage of its own.`,
  );
}

/**
 * Refuses a manifest inside the source. The source is never written, and the file would be one of its objects
 * from the next listing on.
 * @throws TieredError `TIERED_CONFIG_INVALID`, which shows no path, for the same reason as above.
 */
export function assertOutside({ location }: StorageDriver, manifest: string): void {
  const file = `file://${path.posix.join('/', path.resolve(manifest).replaceAll(path.sep, '/'))}`;
  if (location === undefined || !file.startsWith(location)) return;
  throw new TieredError(
    'TIERED_CONFIG_INVALID',
    'manifest: it is inside source, which is never written, and where it would become an object; put it beside that directory.',
  );
}

/**
 * Returns what identifies a storage from one start to the next. What was kept of a storage is valid for the
 * same storage only.
 */
export function identityOf({ location, name }: StorageDriver): string {
  return location ?? name;
}
