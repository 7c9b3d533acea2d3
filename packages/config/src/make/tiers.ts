import type { TierOptions } from '@tiered/core';
import type { FactoryContext } from '@tiered/core/driver';
import path from 'node:path';
import { existingAt } from '@tiered/core/internal';
import { stat } from 'node:fs/promises';
import type { Problems } from '../check/problems.js';
import { tierSchema } from '../check/schema.js';
import { parseShare } from '../fields.js';
import { levelOf, type Level } from './level.js';
import { isMapping, partOf, type Path } from '../file/document.js';

/** The tiers that were made. Invalid ones are left out, and are problems. */
export interface LoadedTiers {
  readonly options: readonly TierOptions[];
  /** By tier; see `LoadedConfig`. */
  readonly shares: readonly (number | undefined)[];
}

/**
 * Makes the tiers, fastest first. Quotas given as shares are converted to bytes.
 * @param memoryDirectory See `LoadOptions`.
 */
export async function tiersOf(
  problems: Problems,
  given: readonly unknown[],
  context: FactoryContext,
  memoryDirectory?: string,
): Promise<LoadedTiers> {
  const options: TierOptions[] = [];
  const shares: (number | undefined)[] = [];
  const shared: SharedTier[] = [];
  for (const [index, tier] of given.entries()) {
    const where = ['tiers', index];
    const made = memoryDirectory === undefined ? tier : inFiles(tier, path.join(memoryDirectory, `${index}`));
    const level = await levelOf(problems, where, made, tierSchema, { ...context, role: 'tier' });
    if (level === undefined) continue;
    const { quota, readDeadlineMs, layout } = level.fields;
    const percent = parseShare(quota);
    const bytes = percent === undefined ? quota : await bytesOfShare(problems, where, level, percent);
    if (percent !== undefined) shared.push({ where, percent, storage: await storageOf(level) });
    if (bytes !== undefined) options.push({ driver: level.driver, quota: bytes, readDeadlineMs, layout });
    shares.push(percent);
  }
  assertSharesFit(problems, shared);
  return { options, shares };
}

/** Turns a tier in memory into a tier of files in that directory. Other tiers are unchanged. */
function inFiles(tier: unknown, root: string): unknown {
  if (!isMapping(tier) || tier['driver'] !== 'memory') return tier;
  return { ...partOf(tier, (key) => key !== 'name'), driver: 'fs', root };
}

/**
 * Converts a share of a tier's storage to bytes. It is a share of the total capacity, not of the free space,
 * so it is the same at each start. Undefined if the size cannot be determined, which is added to the
 * problems.
 */
async function bytesOfShare(
  problems: Problems,
  where: Path,
  { capacityBytes }: Pick<Level<unknown>, 'capacityBytes'>,
  percent: number,
): Promise<number | undefined> {
  // A missing size is already a problem.
  if (capacityBytes === undefined) return undefined;
  try {
    const bytes = await capacityBytes();
    if (!(Number.isSafeInteger(bytes) && bytes >= 0)) throw new Error(`the driver says ${bytes} bytes`);
    return shareOf(bytes, percent);
  } catch (error) {
    const { code = (error as Error).message } = error as NodeJS.ErrnoException;
    const problem = `the size of its storage cannot be determined (${code}); give bytes such as 200GiB`;
    problems.add([...where, 'quota'], problem, error, where);
    return undefined;
  }
}

/** Returns a percentage of a number of bytes, rounded down. */
export function shareOf(bytes: number, percent: number): number {
  // Divide first: 100 times the bytes of a large disk exceeds 2^53.
  return Math.floor(bytes * (percent / 100));
}

/** A tier whose quota is a share. */
interface SharedTier {
  readonly where: Path;
  readonly percent: number;
  /** The identity of the storage; see `storageOf`. */
  readonly storage: string | undefined;
}

/** Rounding error allowed in sums of percentages. */
const ROUNDED = 1e-9;

/**
 * Adds a problem for each tier that takes the shares of one storage above its capacity. Tiers with unknown
 * storage count as separate.
 */
function assertSharesFit(problems: Problems, tiers: readonly SharedTier[]): void {
  const sums = new Map<string, number>();
  for (const { where, percent, storage } of tiers) {
    if (storage === undefined) continue;
    const sum = (sums.get(storage) ?? 0) + percent;
    sums.set(storage, sum);
    if (sum <= 100 + ROUNDED) continue;
    const all = Number(sum.toFixed(2));
    problems.add(
      [...where, 'quota'],
      `with the tiers above that are on the same storage, this is ${all} % of it; give at most 100 % in all`,
    );
  }
}

/** Returns the identity of a level's storage, or undefined if it cannot be known. */
async function storageOf({ driver, driverName }: Level<unknown>): Promise<string | undefined> {
  if (driverName === 'memory') return driverName;
  const scheme = 'file://';
  if (driver.location?.startsWith(scheme) !== true) return undefined;
  try {
    const { dev } = await stat(await existingAt(driver.location.slice(scheme.length)));
    return `${scheme}${dev}`;
  } catch {
    return undefined;
  }
}
