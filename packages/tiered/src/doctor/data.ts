import { formatBytes } from '@tiered/core';
import type { ExaminedLevel } from '../configuration/levels.js';
import { countOf, percentOf } from '../words.js';
import { findingsOn, type Finding } from './finding.js';

/** Objects of a source. */
export interface DataFacts {
  readonly objects: number;
  readonly bytes: number;
  /** Of them, those that a packed tier gathers. */
  readonly small: number;
  /** Whether these are all. */
  readonly isAll: boolean;
}

/** The largest object that is gathered with others where the layout is packed. */
export const SMALL_BYTES = 256 * 1024;
/** What a tier takes for an object beside its bytes, and for all: see the README on quotas. */
const OF_AN_OBJECT = 4096;
const OF_ALL = 33 / 32;
/** So much of the objects is most of them. */
const MOST = 0.5;

const { ok, note } = findingsOn('tiers');

/** How much of the data the tiers have room for. */
export function dataFits(
  { objects, bytes, isAll }: DataFacts,
  tiers: readonly Pick<ExaminedLevel, 'quotaBytes' | 'fields'>[],
): Finding[] {
  if (tiers.length === 0 || bytes === 0) return [];
  const inStorage = bytes / ((bytes + OF_AN_OBJECT * objects) * OF_ALL);
  // Memory takes the bytes of objects and no more.
  const room = tiers.reduce(
    (sum, { quotaBytes = 0, fields }) => sum + quotaBytes * (fields['driver'] === 'memory' ? 1 : inStorage),
    0,
  );
  const has = `${countOf(objects, 'object')}, ${formatBytes(bytes)}`;
  if (!isAll)
    return [
      note(
        `the source has more than ${has}, which were not all counted in time`,
        '"tiered stats" lists all of it, and says how much of it fits.',
      ),
    ];
  const share = Math.min(1, room / bytes);
  const found = `the source has ${has}, and the tiers have room for ${share === 1 ? 'all of it' : `about ${percentOf(share)} of it`}`;
  return [
    share === 1
      ? ok(found)
      : note(
          found,
          `After the first, each epoch reads about ${percentOf(1 - share)} from the source. Larger quotas change that.`,
        ),
  ];
}

/** Where most objects are small, and a tier in a directory keeps each in a file of its own. */
export function layoutSuits(
  { objects, small }: Pick<DataFacts, 'objects' | 'small'>,
  tiers: readonly ExaminedLevel[],
): Finding[] {
  if (small <= MOST * objects) return [];
  const found = `${percentOf(small / objects)} of the objects have at most 256 KiB, and each has a file of its own here`;
  return tiers
    .filter(({ fields }) => fields['driver'] === 'fs' && fields['layout'] !== 'packed')
    .map(({ name }) => findingsOn(name).note(found, PACKED));
}

/** Programs under `tiered run` open copies by their paths. */
export const PACKED =
  'With layout: packed, small copies share files, which reads them several times as fast. Keep layout: files for "tiered run".';
