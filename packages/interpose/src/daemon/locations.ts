import type { HierarchyOptions, StorageDriver } from '@tiered/core';
import { configError } from '@tiered/core/internal';

const FILE = 'file://';

/**
 * The directory of a driver, as its path; its real path once the driver is open. Undefined for drivers that
 * have none.
 */
export function directoryOf({ location }: StorageDriver): string | undefined {
  return location?.startsWith(FILE) === true
    ? location.slice(FILE.length).replace(/(?<=.)\/$/, '')
    : undefined;
}

/**
 * Refuses hierarchies whose copies programs cannot open.
 * @throws TieredError `TIERED_CONFIG_INVALID`
 */
export function assertOpenable({ source, tiers = [] }: HierarchyOptions): void {
  if (directoryOf(source) === undefined)
    throw configError('source', 'a directory, because programs open the files in it', source.name);
  if (tiers.length === 0) throw configError('tiers', 'at least one, from which programs read', []);
  for (const [level, { driver, layout }] of tiers.entries()) {
    if (directoryOf(driver) === undefined)
      throw configError(
        `tiers[${level}].driver`,
        'a directory, because programs open the copies in it; /dev/shm is one in memory',
        driver.name,
      );
    if (layout === 'packed')
      throw configError(
        `tiers[${level}].layout`,
        '"files", because programs cannot open a copy that shares its file with others',
        layout,
      );
  }
}
