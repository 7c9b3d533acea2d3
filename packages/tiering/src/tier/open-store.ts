import type { OperationOptions, Tier } from '@tiered/core';
import type { PlacementHost } from '@tiered/core/placement';
import { addressOf, formerIdentityOf, identityOf, isMistake, type Checksum } from '@tiered/core/internal';
import type { Haste } from '../fill/haste.js';
import { BucketStore } from './bucket/bucket-store.js';
import { ClosedStore } from './closed-store.js';
import { PrivateStore } from './private-store.js';
import { SharedStore } from './shared/shared-store.js';
import type { Copy, TierStore } from './tier-store.js';

/** What an open store reports, and what it is given. */
export interface StoreEvents {
  /** Aborts when everything is about to end. */
  readonly closing: AbortSignal;
  /** Another process removed a copy of this dataset. The copy must not be served any more. */
  readonly onLeft: (copy: Copy) => void;
  /** The index does not belong to this process any more. The tier has to be opened again. */
  readonly onLost: () => void;
  /** Bytes were asked for that a claim got `later` for. */
  readonly onRoom: () => void;
  /** There are segments that are less than half full. */
  readonly onSparse: () => void;
  /** Another process has the tier from now on. The error of the call that met this says so. */
  readonly onTaken: () => void;
  /** Whether copies that are gathered must be written at once. */
  readonly haste: Haste;
}

/**
 * Opens the store of a tier: with an index where its driver has a home for one; as a bucket where others can
 * reach the storage; else as this process's own, which begins empty.
 * @throws TieredError `TIERED_DIRECTORY_NOT_OURS` for storage that holds anything that is not a tier's.
 */
export async function openStore(
  tier: Tier,
  host: PlacementHost,
  checksum: Checksum,
  { onTaken, ...events }: StoreEvents,
  { signal }: OperationOptions,
): Promise<TierStore> {
  const { capabilities, location } = tier.driver;
  await host.openTier(tier, { signal });
  if (capabilities.index) {
    const home = await tier.driver.openIndex({ signal });
    const { source, clock } = host;
    const named = {
      dataset: identityOf(source),
      place: addressOf(source),
      formerly: formerIdentityOf(source),
      onReplaced: () => host.sourceReplaced(tier),
    };
    return SharedStore.open({ tier, home, ...named, checksum, clock, ...events }, signal);
  }
  if (location !== undefined) return BucketStore.open({ tier, host, checksum, onTaken }, { signal });
  await empty(tier, signal);
  return new PrivateStore(tier, identityOf(host.source));
}

/**
 * As `openStore`, but a tier that does not work at the moment is skipped, with a fault. Its store is empty
 * until the tier is opened again.
 */
export async function openAtStart(
  tier: Tier,
  host: PlacementHost,
  checksum: Checksum,
  events: StoreEvents,
  options: OperationOptions,
): Promise<TierStore> {
  try {
    return await openStore(tier, host, checksum, events, options);
  } catch (error) {
    options.signal?.throwIfAborted();
    if (isMistake(error)) throw error;
    host.tierFault(tier, 'openIndex', '', error);
    return new ClosedStore(tier);
  }
}

/** Deletes what an earlier hierarchy of this process left in memory that nobody else uses. */
async function empty({ driver }: Tier, signal: AbortSignal | undefined): Promise<void> {
  for await (const page of driver.list({ signal }))
    for (const { key } of page) await driver.delete(key, { signal });
}
