import type { Clock, IndexHome, Tier } from '@tiered/core';
import type { Checksum } from '@tiered/core/internal';
import type { Haste } from '../../fill/haste.js';
import type { Copy } from '../tier-store.js';

/** What a `SharedStore` needs. */
export interface SharedStoreParts {
  readonly tier: Tier;
  readonly home: IndexHome;
  /** Whose objects are placed: copies of other datasets are left alone. */
  readonly dataset: string;
  readonly checksum: Checksum;
  readonly clock: Clock;
  /** Another process removed a copy of this dataset: it is not to be served any more. */
  readonly onLeft: (copy: Copy) => void;
  /** The index is not this process's any more: the tier is to be opened again. */
  readonly onLost: () => void;
  /** What a claim was answered `later` for has been asked for. */
  readonly onRoom: () => void;
  /** There are segments that are less than half full. */
  readonly onSparse: () => void;
  /** Aborts when everything is about to end: nobody is waited for any more. */
  readonly closing: AbortSignal;
  /** Whether what is gathered is to be written at once. */
  readonly haste: Haste;
}
