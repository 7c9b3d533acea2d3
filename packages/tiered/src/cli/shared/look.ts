import { loadConfig, type LoadedConfig } from '@tiered/config';
import {
  Hierarchy,
  isTieredError,
  parseBytes,
  TieredError,
  type HierarchyOptions,
  type StorageDriver,
} from '@tiered/core';
import { isDirectoryMark } from '@tiered/formats/internal';
import { surveyTier, type TierSurvey } from '@tiered/tiering/survey';
import { readdir } from 'node:fs/promises';
import { ListingProgress } from '../../progress.js';
import { deniedAt, isSystemError } from '../failure.js';
import { warnOn, type CommandHost } from '../host.js';

/**
 * Loads a configuration for a command, which says what becomes of tiers in lines of its own.
 * @param options Whether the profile that it names as its model is loaded. Default: no.
 */
export function configIn(
  host: CommandHost,
  file: string,
  { model = false }: { readonly model?: boolean } = {},
): Promise<LoadedConfig> {
  return loadConfig(file, { clock: host.clock, model, warn: warnOn(host) });
}

/** Loads the levels of a configuration, as `configIn`. */
export async function levelsIn(
  host: CommandHost,
  file: string,
  options: { readonly model?: boolean } = {},
): Promise<HierarchyOptions> {
  return (await configIn(host, file, options)).hierarchy;
}

/** A tier of a configuration, and a look at what it holds. */
export interface TierLook {
  readonly level: number;
  readonly driver: StorageDriver;
  readonly quotaBytes: number;
  /** Undefined where there is nothing to look at, see `absent`. */
  readonly survey: TierSurvey | undefined;
  readonly absent: string | undefined;
}

/** All tiers of a configuration. */
export interface TierLooks extends AsyncDisposable {
  readonly tiers: readonly TierLook[];
}

/** Looks at the tiers of a configuration, without using them. Makes no directory that is not there. */
export async function lookAtTiers({ tiers = [] }: HierarchyOptions): Promise<TierLooks> {
  const looks: TierLook[] = [];
  const close = async () => {
    await Promise.all(looks.map(async ({ survey }) => survey?.close()));
  };
  try {
    for (const [level, { driver, quota }] of tiers.entries()) {
      const { absent, survey } = await lookAt(driver).catch((error: unknown) => {
        throw withOwner(level, driver, error);
      });
      looks.push({ level, driver, quotaBytes: parseBytes(quota), survey, absent });
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { tiers: looks, [Symbol.asyncDispose]: close };
}

async function lookAt(driver: StorageDriver): Promise<Pick<TierLook, 'survey' | 'absent'>> {
  const absent = await absenceOf(driver);
  return { absent, survey: absent === undefined ? await surveyTier(driver) : undefined };
}

/** Of a directory that this user may not look into, says whose it is. */
function withOwner(level: number, driver: StorageDriver, error: unknown): unknown {
  const directory = directoryOf(driver)?.replace(/(?<=.)\/$/, '');
  const isDenied =
    isTieredError(error, 'TIERED_PERMISSION') || (isSystemError(error) && error.code === 'EACCES');
  if (directory === undefined || !isDenied) return error;
  return new TieredError('TIERED_PERMISSION', `tier ${level}, ${directory}: ${deniedAt(directory)}`, {
    cause: error,
  });
}

async function absenceOf(driver: StorageDriver): Promise<string | undefined> {
  if (driver.location === undefined) return 'in the memory of each process that uses it';
  const directory = directoryOf(driver);
  if (directory === undefined) return undefined;
  const entries = await readdir(directory).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  });
  return entries.length === 0 ? 'nothing there yet' : undefined;
}

/** The directory of a driver; undefined if it has none. */
export function directoryOf({ location }: StorageDriver): string | undefined {
  return location?.startsWith('file://') === true ? location.slice('file://'.length) : undefined;
}

/** Opens the source of a configuration alone, with what is known of its objects. */
export async function openSource(host: CommandHost, options: HierarchyOptions): Promise<Hierarchy> {
  const { source, versions, manifest, scan, warn } = options;
  const hierarchy = new Hierarchy({ source, versions, manifest, scan, warn, clock: host.clock });
  const listing = new ListingProgress(hierarchy, host.terminal, host.clock);
  await hierarchy.open().finally(() => listing.stop());
  return hierarchy;
}

/**
 * The keys of the objects that are meant, in their order, as a dataset has them: without marks of directories
 * in S3. Nothing else of any object is kept meanwhile.
 */
export async function keysIn(source: Hierarchy, isMeant: (key: string) => boolean): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of source.list())
    for (const { key, size } of page) if (!isDirectoryMark(key, size) && isMeant(key)) keys.push(key);
  return keys.sort();
}
