import { existingAt } from '@tiered/core/internal';
import { stat } from 'node:fs/promises';
import type { Problems } from '../check/problems.js';
import type { Path } from '../file/document.js';
import type { Level } from './level.js';

/**
 * Returns the bytes that a share of a tier's storage is. It is a share of all that the storage has, and not
 * of what is free, so that it is the same at each start. Undefined if the size cannot be found out, which is
 * then added to the problems.
 */
export async function bytesOfShare(
  problems: Problems,
  where: Path,
  { capacityBytes }: Pick<Level<unknown>, 'capacityBytes'>,
  percent: number,
): Promise<number | undefined> {
  // That there is none is a problem already.
  if (capacityBytes === undefined) return undefined;
  try {
    const bytes = await capacityBytes();
    if (!(Number.isSafeInteger(bytes) && bytes >= 0)) throw new Error(`the driver says ${bytes} bytes`);
    return shareOf(bytes, percent);
  } catch (error) {
    const { code = (error as Error).message } = error as NodeJS.ErrnoException;
    const problem = `the size of its storage cannot be found out (${code}); give bytes such as 200GiB`;
    problems.add([...where, 'quota'], problem, error, where);
    return undefined;
  }
}

/** Returns a percentage of a number of bytes, rounded down. */
export function shareOf(bytes: number, percent: number): number {
  // Divided first: 100 times the bytes of a large disk are beyond 2^53.
  return Math.floor(bytes * (percent / 100));
}

/** A tier whose quota is a share. */
export interface SharedTier {
  readonly where: Path;
  readonly percent: number;
  /** What tells one storage from another, see `storageOf`. */
  readonly storage: string | undefined;
}

/** Sums of percentages may be this much above what was written. */
const ROUNDED = 1e-9;

/**
 * Adds a problem for each tier by which the shares of one storage become more than all of it. Tiers whose
 * storage is not known are taken to be apart.
 */
export function assertSharesFit(problems: Problems, tiers: readonly SharedTier[]): void {
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

/** Returns what identifies the storage of a level, or undefined where that cannot be known. */
export async function storageOf({ driver, driverName }: Level<unknown>): Promise<string | undefined> {
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
