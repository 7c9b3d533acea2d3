import { loadHierarchy } from '@tiered/config';
import { TieredError } from '@tiered/core';
import { placeInOrder } from '@tiered/tiering';
import { ListingProgress, ProgressBar } from '../../progress.js';
import type { CommandHost } from '../host.js';
import { levelsText } from './levels-text.js';

/** What `tiered warmup` is told. */
export interface WarmupOptions {
  readonly prefix?: string;
  readonly json?: boolean;
}

/** Fills the tiers of a configuration. Fails at the end if objects could not be looked up. */
export async function warmup(
  host: CommandHost,
  file: string,
  { prefix, json = false }: WarmupOptions,
): Promise<void> {
  await using hierarchy = await loadHierarchy(file, { clock: host.clock });
  const listing = new ListingProgress(hierarchy, host.terminal, host.clock);
  await hierarchy.open().finally(() => listing.stop());
  const keys: string[] = [];
  for await (const page of hierarchy.list({ prefix })) for (const { key } of page) keys.push(key);
  const bar = new ProgressBar(host.terminal, host.clock, 'placing');
  const failures: string[] = [];
  const counts = await placeInOrder(hierarchy, keys.sort(), {
    onProgress: ({ placed, left, failed }) =>
      bar.update(
        placed.reduce((sum, n) => sum + n, left + failed),
        keys.length,
      ),
    onFailed: (key, error) =>
      failures.push(`${key}: ${error instanceof Error ? error.message : String(error)}`),
  }).finally(() => bar.stop());
  await hierarchy.idle();
  const stats = hierarchy.stats();
  if (json) host.write(`${JSON.stringify({ ...counts, tiers: stats.tiers }, undefined, 2)}\n`);
  else host.write(`${keys.length} objects: ${counts.left} stay in the source\n${levelsText(stats)}\n`);
  if (failures.length === 0) return;
  const [first] = failures;
  throw new TieredError(
    'TIERED_IO',
    `${failures.length} objects could not be looked up, the first: ${first}`,
  );
}
