import { Hierarchy, type Clock, type TierLayout } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { firstFit, lru, PlacementHandler } from '@tiered/tiering';
import path from 'node:path';

/** A dataset on the disk and one tier beside it, for several processes. */
export interface Place {
  /** Holds `source`. */
  readonly directory: string;
  /** Where the tier is; default: `tier` in the directory. */
  readonly tier?: string;
  readonly quota: number;
  readonly policy: 'firstFit' | 'lru';
  readonly fsync?: boolean;
  /** How copies lie on the tier. Default: `files`. */
  readonly layout?: TierLayout;
}

const CHUNK = 16 * 1024;
const POLICIES = { firstFit, lru };

export const sourceOf = ({ directory }: Place): string => path.join(directory, 'source');
export const tierOf = ({ directory, tier }: Place): string => tier ?? path.join(directory, 'tier');
export const indexOf = (place: Place): string => path.join(tierOf(place), '.tiered', 'index.db');
export const membersOf = (place: Place): string => path.join(tierOf(place), '.tiered', 'members');

/** A hierarchy over a place that has not started, and how many bytes it brought from the source. */
export function hierarchyOf(
  place: Place,
  clock?: Clock,
): { readonly hierarchy: Hierarchy; readonly brought: () => number } {
  const source = new MetricsDriver(new FileSystemDriver({ root: sourceOf(place) }));
  const { quota, policy, layout, fsync = false } = place;
  const driver = new FileSystemDriver({ root: tierOf(place), writable: true, fsync });
  const placement = new PlacementHandler({ chunk: CHUNK, policy: POLICIES[policy] });
  const hierarchy = new Hierarchy({
    source,
    tiers: [{ driver, quota, layout }],
    placement,
    ...(clock === undefined ? {} : { clock }),
  });
  return { hierarchy, brought: () => source.metrics().operations.readInto?.bytes ?? 0 };
}
