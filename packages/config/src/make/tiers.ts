import type { TierOptions } from '@tiered/core';
import type { FactoryContext } from '@tiered/core/driver';
import type { Problems } from '../check/problems.js';
import { tierSchema } from '../check/schema.js';
import { parseShare } from '../fields.js';
import { levelOf } from './level.js';
import { assertSharesFit, bytesOfShare, storageOf, type SharedTier } from './shares.js';

/** The tiers as they were made. Those that are wrong are left out, and are problems. */
export interface LoadedTiers {
  readonly options: readonly TierOptions[];
  /** By tier, see `LoadedConfig`. */
  readonly shares: readonly (number | undefined)[];
}

/** Makes the tiers, fastest first. Quotas that are shares become bytes. */
export async function tiersOf(
  problems: Problems,
  given: readonly unknown[],
  context: FactoryContext,
): Promise<LoadedTiers> {
  const options: TierOptions[] = [];
  const shares: (number | undefined)[] = [];
  const shared: SharedTier[] = [];
  for (const [index, tier] of given.entries()) {
    const where = ['tiers', index];
    const level = await levelOf(problems, where, tier, tierSchema, { ...context, role: 'tier' });
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
