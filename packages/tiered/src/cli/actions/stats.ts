import { loadHierarchy } from '@tiered/config';
import { ListingProgress } from '../../progress.js';
import type { CommandHost } from '../host.js';
import { levelsText } from './levels-text.js';

/** Opens a configuration, and says what its tiers hold. Places nothing. */
export async function stats(host: CommandHost, file: string, json: boolean): Promise<void> {
  await using hierarchy = await loadHierarchy(file, { clock: host.clock });
  const listing = new ListingProgress(hierarchy, host.terminal, host.clock);
  await hierarchy.open().finally(() => listing.stop());
  const found = hierarchy.stats();
  host.write(`${json ? JSON.stringify(found, undefined, 2) : levelsText(found)}\n`);
}
