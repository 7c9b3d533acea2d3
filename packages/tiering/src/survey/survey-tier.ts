import type { OperationOptions, StorageDriver } from '@tiered/core';
import { loadChecksum } from '@tiered/core/internal';
import { BucketSurvey } from './bucket-survey.js';
import { IndexedSurvey } from './indexed-survey.js';
import type { TierSurvey } from './tier-survey.js';

/**
 * Opens a tier's storage for inspection: which copies it has, which processes use it, and whether the bytes
 * are as they were written. For tools; a hierarchy does not need it.
 *
 * Creates the directory if it does not exist, and removes the partial writes of processes that are gone, as
 * every open does. Changes nothing else.
 * @param driver As in `HierarchyOptions.tiers`, not open. The survey opens it, and closes it when it is
 * closed.
 * @returns Undefined for storage that no other process can reach, such as memory.
 * @throws TieredError `TIERED_DIRECTORY_NOT_OURS` for storage that is not a tier; `TIERED_UNAVAILABLE` for an
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
