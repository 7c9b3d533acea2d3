import type { OperationOptions } from '@tiered/core';
import type { PlacementStats, TracedOptions } from '@tiered/core/placement';

/** A read in progress. */
export interface Reading extends OperationOptions {
  /**
   * The origin of the bytes: a copy on the tier of this level, the read's own request, another read's
   * request.
   */
  readonly by: { copy: number | undefined; own: boolean; joined: boolean };
}

/** Counts served reads, each once, by what they had to wait for. */
export class ServedReads {
  #copyReads = 0;
  #ownReads = 0;
  #joinedReads = 0;

  get counts(): Pick<PlacementStats, 'copyReads' | 'ownReads' | 'joinedReads'> {
    return { copyReads: this.#copyReads, ownReads: this.#ownReads, joinedReads: this.#joinedReads };
  }

  /** Counts a served read. It counts in `ownReads` if it requested any part from the source. */
  count({ by }: Reading, { onServed }: TracedOptions): void {
    if (by.own) {
      this.#ownReads += 1;
      onServed?.('fromSource');
    } else if (by.joined) {
      this.#joinedReads += 1;
      onServed?.('joined');
    } else {
      this.#copyReads += 1;
      onServed?.('fromTiers', by.copy);
    }
  }
}

/** A read that begins. */
export function newReading({ signal }: OperationOptions): Reading {
  return { signal, by: { copy: undefined, own: false, joined: false } };
}
