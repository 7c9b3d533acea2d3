import type { OperationOptions, PlacementHost, Tier } from '@tiered/core';
import { configError, identityOf, type Checksum } from '@tiered/core/internal';
import { PrivateStore } from './private-store.js';
import { SharedStore } from './shared-store.js';
import type { Copy, TierStore } from './tier-store.js';

/** What a store needs beside its tier. */
export interface OpenStoreOptions extends OperationOptions {
  readonly checksum: Checksum;
  /** Another process removed a copy of this dataset: it is not to be served any more. */
  readonly onLeft: (copy: Copy) => void;
  /** The index is not this process's any more: the tier is to be opened again. */
  readonly onLost: () => void;
}

/**
 * Opens what a tier holds: with an index where its driver has a home for one, else as this process's own.
 * @throws TieredError `TIERED_CONFIG_INVALID` for storage that others can reach and that has no index.
 */
export async function openStore(
  tier: Tier,
  host: PlacementHost,
  { checksum, onLeft, onLost, signal }: OpenStoreOptions,
): Promise<TierStore> {
  const { driver } = tier;
  const dataset = identityOf(host.source);
  await host.openTier(tier, { signal });
  if (driver.capabilities.index) {
    const home = await driver.openIndex({ signal });
    return SharedStore.open({ tier, home, dataset, checksum, clock: host.clock, onLeft, onLost }, signal);
  }
  await empty(tier, signal);
  return new PrivateStore(tier, dataset);
}

/** Deletes what an earlier hierarchy of this process left in memory that is nobody else's. */
async function empty({ driver, level }: Tier, signal: AbortSignal | undefined): Promise<void> {
  for await (const page of driver.list({ signal })) {
    if (page.length > 0 && driver.location !== undefined)
      throw configError(`tiers[${level}].driver`, 'storage that keeps an index, or is empty', driver.name);
    for (const { key } of page) await driver.delete(key, { signal });
  }
}
