import { isTieredError, type Tier, type Clock } from '@tiered/core';
import type { PlacementHost } from '@tiered/core/placement';
import { ClosedStore } from '../store/closed-store.js';
import type { TierStore } from '../tier/tier-store.js';
import { PrivateStore } from '../store/private-store.js';
import { tryAgainLater } from './try-again.js';

/** Dependencies of `Openings`. */
export interface OpeningsParts {
  readonly open: (tier: Tier) => Promise<TierStore>;
  /** Makes this store the one of its tier. Earlier knowledge of the tier is void. */
  readonly begin: (store: TierStore) => void;
}

/**
 * Reopens a tier that did not work, or whose storage now has another index, or none because it was emptied.
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
   * Reopens a tier, unless that is in progress or not worth it now. Never rejects: a failure is a fault of
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

/** Dependencies of `TakeOvers`. */
export interface TakeOversParts {
  readonly clock: Clock;
  readonly closing: AbortSignal;
  readonly takeOver: (store: TierStore) => Promise<void>;
  /** Whether this is still the store of its tier, and the tier was not reopened meanwhile. */
  readonly isOpen: (store: TierStore) => boolean;
  /** Called if adoption failed. It will be retried. */
  readonly failed: (store: TierStore, error: unknown) => void;
}

/**
 * Adopts the copies that tiers already hold, in the background. A failure is retried, because a tier may take
 * no new copy until all of its copies are known.
 */
export class TakeOvers {
  readonly #parts: TakeOversParts;
  readonly #underWay = new Set<Promise<void>>();

  constructor(parts: TakeOversParts) {
    this.#parts = parts;
  }

  /** Work in progress, except retries that are still waiting. */
  get underWay(): readonly Promise<void>[] {
    return [...this.#underWay];
  }

  begin(store: TierStore): void {
    if (!(store instanceof PrivateStore || store instanceof ClosedStore)) this.#try(store, 0);
  }

  #try(store: TierStore, failures: number): void {
    const { takeOver, closing } = this.#parts;
    const work = takeOver(store)
      .catch((error: unknown) => {
        if (closing.aborted || !isTieredError(error)) return;
        this.#parts.failed(store, error);
        this.#later(store, failures + 1);
      })
      .finally(() => this.#underWay.delete(work));
    this.#underWay.add(work);
  }

  #later(store: TierStore, failures: number): void {
    const { clock, closing, isOpen } = this.#parts;
    tryAgainLater(clock, closing, failures, () => {
      if (!isOpen(store)) return;
      // A tier that is out of service is not tried.
      if (store.tier.writing.inService) this.#try(store, failures);
      else this.#later(store, failures);
    });
  }
}
