import { parseBytes, type HierarchyOptions, type StorageDriver } from '@tiered/core';
import { PlacementHandler, type PlacementPolicy } from '@tiered/tiering';
import path from 'node:path';
import type { Mapping } from './written.js';

/** A level of a configuration that can be made, and what the checks need to know of it. */
export interface ExaminedLevel {
  /** `source` or `tier 0`. */
  readonly name: string;
  readonly driver: StorageDriver;
  /** Its fields, with the values of variables. */
  readonly fields: Mapping;
  /** Where it is, in words that may be shown. */
  readonly place: string;
  /** The directory that it is in; undefined if it is not in a file system. */
  readonly directory: string | undefined;
  /** Of a tier. */
  readonly quotaBytes: number | undefined;
}

/** The levels of a hierarchy, the source first. */
export function levelsOf(
  { source, tiers = [] }: Pick<HierarchyOptions, 'source' | 'tiers'>,
  written: { readonly expanded: unknown; readonly shown: unknown; readonly baseDirectory: string },
): ExaminedLevel[] {
  const [fields, shown] = [partsOf(written.expanded), partsOf(written.shown)];
  const level = (name: string, index: number, driver: StorageDriver, quotaBytes?: number) => ({
    name,
    driver,
    fields: fields[index] ?? {},
    place: placeOf(shown[index] ?? {}),
    directory: directoryOf(driver, fields[index] ?? {}, written.baseDirectory),
    quotaBytes,
  });
  return [
    level('source', 0, source),
    ...tiers.map(({ driver, quota }, i) => level(`tier ${i}`, i + 1, driver, parseBytes(quota))),
  ];
}

/** Whether a level is the memory of the process. */
export function isRam({ fields }: Pick<ExaminedLevel, 'fields'>): boolean {
  return fields['driver'] === 'memory';
}

/** The policy of the placement, if it is one of this SDK. */
export function policyOf(options: Pick<HierarchyOptions, 'placement'>): PlacementPolicy | undefined {
  return handlerOf(options)?.policy;
}

/** The placement, if it is one of this SDK. */
export function handlerOf({ placement }: Pick<HierarchyOptions, 'placement'>): PlacementHandler | undefined {
  return placement instanceof PlacementHandler ? placement : undefined;
}

/** The mappings of the levels in a configuration, the source first. */
export function partsOf(configuration: unknown): readonly Mapping[] {
  const { source, tiers = [] } = configuration as { readonly source: Mapping; readonly tiers?: Mapping[] };
  return [source, ...tiers];
}

function placeOf(shown: Mapping): string {
  const { driver, service, root, bucket, container, prefix } = shown;
  if (driver === 'memory') return 'RAM';
  const where = [root ?? bucket ?? container, prefix]
    .filter((part) => typeof part === 'string')
    .map((part) => part.replace(/\/$/, ''));
  const kind = driver === 'fs' ? [] : [typeof service === 'string' ? service : String(driver)];
  return [...kind, where.join('/')].filter(Boolean).join(' ');
}

const FILES = 'file://';

/** The root of a directory, which a prefix does not change; else where the driver says that it is. */
function directoryOf(driver: StorageDriver, fields: Mapping, baseDirectory: string): string | undefined {
  const { driver: name, root } = fields;
  if (name === 'fs' && typeof root === 'string') return path.resolve(baseDirectory, root);
  return driver.location?.startsWith(FILES) === true
    ? path.resolve(driver.location.slice(FILES.length))
    : undefined;
}
