import { isTieredError, type Clock } from '@tiered/core';
import { ClosedStore } from '../tier/closed-store.js';
import { PrivateStore } from '../tier/private-store.js';
import type { TierStore } from '../tier/tier-store.js';
import { tryAgainLater } from './try-again.js';

/** How the copies on a tier are adopted, and what follows. */
export interface TakeOversParts {
  readonly clock: Clock;
  readonly closing: AbortSignal;
  readonly takeOver: (store: TierStore) => Promise<void>;
  /** Whether this store is what its tier holds, and the tier was not opened again meanwhile. */
  readonly isOpen: (store: TierStore) => boolean;
  /** Adopting failed, and will be tried again. */
  readonly failed: (store: TierStore, error: unknown) => void;
}

/**
 * Adopts, in the background, the copies that tiers hold already. What fails is tried again, because a tier
 * may take no new copy until all of its copies are known.
 */
export class TakeOvers {
  readonly #parts: TakeOversParts;
  readonly #underWay = new Set<Promise<void>>();

  constructor(parts: TakeOversParts) {
    this.#parts = parts;
  }

  /** Work under way, without what waits to be tried again. */
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
      // A tier that is out of service is not asked either.
      if (store.tier.writing.inService) this.#try(store, failures);
      else this.#later(store, failures);
    });
  }
}
