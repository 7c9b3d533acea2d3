import type { TierOptions } from '@tiered/core';
import type { FactoryContext } from '@tiered/core/driver';
import path from 'node:path';
import type { Problems } from '../check/problems.js';
import { tierSchema } from '../check/schema.js';
import { parseShare } from '../fields.js';
import { levelOf } from './level.js';
import { isMapping, partOf } from './mapping.js';
import { assertSharesFit, bytesOfShare, storageOf, type SharedTier } from './shares.js';

/** The tiers as they were made. Those that are wrong are left out, and are problems. */
export interface LoadedTiers {
  readonly options: readonly TierOptions[];
  /** By tier, see `LoadedConfig`. */
  readonly shares: readonly (number | undefined)[];
}

/**
 * Makes the tiers, fastest first. Quotas that are shares become bytes.
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

/** A tier in memory, as one of files in that directory. Others stay as they are. */
function inFiles(tier: unknown, root: string): unknown {
  if (!isMapping(tier) || tier['driver'] !== 'memory') return tier;
  return { ...partOf(tier, (key) => key !== 'name'), driver: 'fs', root };
}
