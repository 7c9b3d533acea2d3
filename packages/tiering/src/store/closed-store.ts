import type { Tier } from '@tiered/core';
import type { Copy, TierStore } from '../tier/tier-store.js';

/** The store of a tier that cannot be used at the moment. It holds nothing, and has no room. */
export class ClosedStore implements TierStore {
  readonly tier: Tier;
  readonly asked = undefined;
  readonly usedBytes = 0;
  readonly claimedBytes = 0;
  readonly freeBytes = 0;
  readonly excessBytes = 0;
  readonly current = false;
  readonly mayHoldMore = false;

  readonly until: 'reopened' | 'for good';

  /** @param until Whether the tier will be opened again. */
  constructor(tier: Tier, until: 'reopened' | 'for good' = 'reopened') {
    this.tier = tier;
    this.until = until;
  }

  get quotaBytes(): number {
    return this.tier.quotaBytes;
  }

  async isCurrent(): Promise<boolean> {
    return false;
  }

  async leavingBytes(): Promise<number> {
    return 0;
  }

  claim(): undefined {
    return undefined;
  }

  async find(): Promise<readonly Copy[]> {
    return [];
  }

  async *pages(): AsyncGenerator<readonly Copy[], void, undefined> {
    // There is none.
  }

  async remove(): Promise<void> {
    // The process that opens the tier removes what is there.
  }

  shrink(): void {
    // Nothing is held.
  }

  async beginTakingOver(): Promise<void> {
    // There is nothing.
  }

  async endTakingOver(): Promise<void> {
    // There was nothing.
  }

  async close(): Promise<void> {
    // Nothing is open.
  }
}
