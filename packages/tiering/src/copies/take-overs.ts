import { isTieredError, type Clock } from '@tiered/core';
import { ClosedStore } from '../tier/closed-store.js';
import { PrivateStore } from '../tier/private-store.js';
import type { TierStore } from '../tier/tier-store.js';
import { tryAgainLater } from './try-again.js';

/** How what is on a tier is taken over, and what follows. */
export interface TakeOversParts {
  readonly clock: Clock;
  readonly closing: AbortSignal;
  readonly takeOver: (store: TierStore) => Promise<void>;
  /** Whether this is what the tier holds, and it was not opened again meanwhile. */
  readonly isOpen: (store: TierStore) => boolean;
  /** It failed, and will be tried again. */
  readonly failed: (store: TierStore, error: unknown) => void;
}

/**
 * Takes over, in the background, what is on tiers since before. What fails is tried again: a tier may take no copy until all that
 * is on it is known.
 */
export class TakeOvers {
  readonly #parts: TakeOversParts;
  readonly #underWay = new Set<Promise<void>>();

  constructor(parts: TakeOversParts) {
    this.#parts = parts;
  }

  /** Those that are under way; not those that wait to be tried again. */
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
      // One that is passed over is not asked either.
      if (store.tier.writing.inService) this.#try(store, failures);
      else this.#later(store, failures);
    });
  }
}
