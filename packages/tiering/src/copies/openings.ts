import { isTieredError, type Tier } from '@tiered/core';
import type { PlacementHost } from '@tiered/core/placement';
import { ClosedStore } from '../tier/closed-store.js';
import type { TierStore } from '../tier/tier-store.js';

/** How a tier is opened, and what follows. */
export interface OpeningsParts {
  readonly open: (tier: Tier) => Promise<TierStore>;
  /** From now on this store is what the tier holds. What was known of the tier before is void. */
  readonly begin: (store: TierStore) => void;
}

/**
 * Opens a tier again that did not work, or whose storage has another index now, or none because it was
 * emptied.
 */
export class Openings {
  readonly #host: PlacementHost;
  readonly #closing: AbortSignal;
  readonly #parts: OpeningsParts;
  readonly #underWay = new Map<number, Promise<void>>();

  constructor(host: PlacementHost, closing: AbortSignal, parts: OpeningsParts) {
    this.#host = host;
    this.#closing = closing;
    this.#parts = parts;
  }

  get underWay(): Promise<void>[] {
    return [...this.#underWay.values()];
  }

  /**
   * Opens a tier again, unless that is under way or not worth it now. Never rejects: a failure is a fault of
   * the tier.
   */
  again(store: TierStore): void {
    const { tier } = store;
    const isFinal = store instanceof ClosedStore && store.until === 'for good';
    if (isFinal || !tier.writing.inService || this.#underWay.has(tier.level) || this.#closing.aborted) return;
    const opening = this.#open(store)
      .catch((error: unknown) => {
        if (this.#closing.aborted) return;
        if (!isTieredError(error)) throw error;
        this.#host.tierFault(tier, 'openIndex', '', error);
      })
      .finally(() => this.#underWay.delete(tier.level));
    this.#underWay.set(tier.level, opening);
  }

  async #open(store: TierStore): Promise<void> {
    const { tier } = store;
    await store.close();
    this.#parts.begin(new ClosedStore(tier));
    this.#parts.begin(await this.#parts.open(tier));
    this.#host.tierWorked(tier, 'write');
  }
}
