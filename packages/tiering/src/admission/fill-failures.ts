import { isTieredError, type Tier } from '@tiered/core';
import type { PlacementHost } from '@tiered/core/placement';
import type { PlaceOutcome } from '@tiered/core/tracing';
import type { CopyIndex } from '../ledger/copy-index.js';
import type { FillFailure } from '../fill/fill-parts.js';
import type { Begun } from './begun.js';
import type { ObjectFill } from '../fill/object-fill.js';

/** Dependencies of `FillFailures`. */
export interface FillFailuresParts {
  readonly host: PlacementHost;
  readonly copies: CopyIndex;
  readonly closing: AbortSignal;
  /** Where failed fills are counted. */
  readonly counts: { failed: number };
}

/** Faults of an object, not of the tier. Other objects are not affected. */
const FAULTS_OF_THE_OBJECT = ['TIERED_KEY_INVALID', 'TIERED_KEY_CONFLICT'] as const;

/** Cleans up after failed fills, and decides where the fault lies. A failed fill costs speed, not data. */
export class FillFailures {
  readonly #parts: FillFailuresParts;
  /** Levels that cannot hold an object, regardless of their room, as `level id`. */
  readonly #refused = new Set<string>();
  /** Tier errors that were reported already. All copies of one segment fail with the same error. */
  readonly #told = new WeakSet<object>();

  constructor(parts: FillFailuresParts) {
    this.#parts = parts;
  }

  /** Whether a level has shown that it cannot hold an object. */
  refuses(level: number, id: number): boolean {
    return this.#refused.size > 0 && this.#refused.has(`${level} ${id}`);
  }

  /** Releases the claim of the fill, and reports the failure. Returns the outcome of the placement. */
  meet({ object, level, claim }: Begun, { writtenBytes }: ObjectFill, failure: FillFailure): PlaceOutcome {
    const { host, copies, closing, counts } = this.#parts;
    const { error, side } = failure;
    const { id, key } = object;
    const { store } = claim;
    const { tier } = copies.stores.at(level);
    const held = store.usedBytes + store.claimedBytes;
    void copies.release(claim, key);
    if (closing.aborted) return 'abandoned';
    // If another process has the copy, the next read finds it.
    if (isTieredError(error, 'TIERED_EXISTS')) return 'elsewhere';
    counts.failed += 1;
    if (FAULTS_OF_THE_OBJECT.some((code) => isTieredError(error, code))) {
      this.#refused.add(`${tier.level} ${id}`);
    } else if (side === 'tier' && isTieredError(error, 'TIERED_NO_SPACE')) {
      // If the whole copy was written, something else had no room, such as a directory. Some bytes must count
      // as lost.
      store.shrink(held, claim.bytes - writtenBytes || claim.bytes);
      host.tierShrunk(tier, store.quotaBytes);
    } else if (side === 'tier') this.#tierFailed(tier, key, error);
    host.placementFailed(object, tier.level, error);
    return 'failed';
  }

  /**
   * Reports that a tier failed to take a copy: once per error, even if many copies of one segment fail with
   * it.
   */
  #tierFailed(tier: Tier, key: string, error: unknown): void {
    if (isTieredError(error)) {
      if (this.#told.has(error)) return;
      this.#told.add(error);
    }
    this.#parts.host.tierFault(tier, 'write', key, error);
  }
}
