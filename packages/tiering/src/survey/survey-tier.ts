import type { OperationOptions, StorageDriver } from '@tiered/core';
import { loadChecksum } from '@tiered/core/internal';
import { BucketSurvey } from './bucket-survey.js';
import { IndexedSurvey } from './indexed-survey.js';
import type { TierSurvey } from './tier-survey.js';

/**
 * Opens a tier's storage to look at what it holds: which copies there are, who uses it, and whether the bytes
 * are what was written. For tools; a hierarchy needs none of it.
 *
 * A directory is made if it is not there yet, and what processes that are gone had half written in it is
 * removed, as by anybody who opens it. Nothing else is changed.
 * @param driver As in `HierarchyOptions.tiers`, not open. The survey opens it, and closes it at its end.
 * @returns Undefined for storage that nobody else can reach, such as memory.
 * @throws TieredError `TIERED_DIRECTORY_NOT_OURS` for storage that is no tier; `TIERED_UNAVAILABLE` for an
 * index of another version; errors of the storage. An abort rejects with `signal.reason`.
 */
export async function surveyTier(
  driver: StorageDriver,
  { signal }: OperationOptions = {},
): Promise<TierSurvey | undefined> {
  const { capabilities, location } = driver;
  if (!capabilities.index && location === undefined) return undefined;
  const checksum = await loadChecksum();
  await driver.open({ signal });
  try {
    if (!capabilities.index) return new BucketSurvey(driver, checksum);
    return await IndexedSurvey.open(driver, checksum, { signal });
  } catch (error) {
    await driver.close();
    throw error;
  }
}
