import type { OperationOptions, Tier } from '@tiered/core';
import type { PlacementHost } from '@tiered/core/placement';
import { addressOf, formerIdentityOf, identityOf, isMistake, type Checksum } from '@tiered/core/internal';
import type { FlushUrgency } from '../memory/flush-urgency.js';
import { BucketStore } from './bucket/bucket-store.js';
import { ClosedStore } from './closed-store.js';
import { PrivateStore } from './private-store.js';
import { SharedStore } from './shared/shared-store.js';
import type { TierEvents } from '../tier/tier-events.js';
import type { TierStore } from '../tier/tier-store.js';

/** Dependencies of the stores of all tiers. */
export interface StoreParts {
  readonly host: PlacementHost;
  readonly checksum: Checksum;
  /** Aborts when everything is about to end. */
  readonly closing: AbortSignal;
  readonly events: TierEvents;
  /** Whether gathered copies must be written at once. */
  readonly urgency: FlushUrgency;
}

/**
 * Opens the store of a tier: with an index if its driver has a home for one, as a bucket if other processes
 * can reach the storage, else as a private store that starts empty.
 * @throws TieredError `TIERED_DIRECTORY_NOT_OURS` if the storage holds anything that does not belong to a
 * tier.
 */
export async function openStore(
  tier: Tier,
  parts: StoreParts,
  { signal }: OperationOptions,
): Promise<TierStore> {
  const { host, checksum, closing, events, urgency } = parts;
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
    return SharedStore.open({ tier, home, ...named, checksum, clock, closing, events, urgency }, signal);
  }
  if (location !== undefined) return BucketStore.open({ tier, host, checksum, events }, { signal });
  await empty(tier, signal);
  return new PrivateStore(tier, identityOf(host.source));
}

/**
 * As `openStore`, but skips a tier that does not work at the moment, and reports a fault. Its store is empty
 * until the tier is opened again.
 */
export async function openAtStart(
  tier: Tier,
  parts: StoreParts,
  options: OperationOptions,
): Promise<TierStore> {
  try {
    return await openStore(tier, parts, options);
  } catch (error) {
    options.signal?.throwIfAborted();
    if (isMistake(error)) throw error;
    parts.host.tierFault(tier, 'openIndex', '', error);
    return new ClosedStore(tier);
  }
}

/** Deletes the leftovers of an earlier hierarchy of this process from private memory. */
async function empty({ driver }: Tier, signal: AbortSignal | undefined): Promise<void> {
  for await (const page of driver.list({ signal }))
    for (const { key } of page) await driver.delete(key, { signal });
}
