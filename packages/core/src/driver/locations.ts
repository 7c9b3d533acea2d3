import path from 'node:path';
import type { StorageDriver } from './driver.js';
import { TieredError } from '../support/errors.js';

interface Place {
  readonly field: string;
  readonly location: string;
}

/**
 * Refuses levels that share storage: the objects of one would be served, counted and deleted as those of the other,
 * and a tier inside the source would write to it. What has no location is nowhere else.
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

/** Names the fields and not the locations, which may have come from the environment. */
function overlap(inner: Place, outer: Place): TieredError {
  const relation =
    inner.location === outer.location ? `is where ${outer.field} is too` : `is inside ${outer.field}`;
  return new TieredError(
    'TIERED_CONFIG_INVALID',
    `${inner.field}: its storage ${relation}; give each level storage of its own.`,
  );
}

/**
 * Refuses a manifest inside the source: that is never written, and the file would be one of its objects from the next
 * listing on.
 * @throws TieredError `TIERED_CONFIG_INVALID`; as above it shows no path.
 */
export function assertOutside({ location }: StorageDriver, manifest: string): void {
  const file = `file://${path.posix.join('/', path.resolve(manifest).replaceAll(path.sep, '/'))}`;
  if (location === undefined || !file.startsWith(location)) return;
  throw new TieredError(
    'TIERED_CONFIG_INVALID',
    'manifest: it is inside source, which is never written, and where it would become an object; put it beside that directory.',
  );
}

/** What a storage is known by from one start to the next: what was kept of it is of use for this one only. */
export function identityOf({ location, name }: StorageDriver): string {
  return location ?? name;
}
