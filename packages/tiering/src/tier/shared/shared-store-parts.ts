import type { Clock, Tier } from '@tiered/core';
import type { IndexHome } from '@tiered/core/driver';
import type { Checksum } from '@tiered/core/internal';
import type { Haste } from '../../fill/haste.js';
import type { DatasetName } from '../index/open-index.js';
import type { Copy } from '../tier-store.js';

/** What a `SharedStore` needs. */
export interface SharedStoreParts extends DatasetName {
  readonly tier: Tier;
  readonly home: IndexHome;
  /** The dataset whose objects are placed. Copies of other datasets are left alone. */
  readonly dataset: string;
  /** The tier has copies of what was at the place before, and none of the dataset. */
  readonly onReplaced: () => void;
  readonly checksum: Checksum;
  readonly clock: Clock;
  /** Another process removed a copy of this dataset. The copy must not be served any more. */
  readonly onLeft: (copy: Copy) => void;
  /** The index does not belong to this process any more. The tier has to be opened again. */
  readonly onLost: () => void;
  /** Bytes were asked for that a claim got `later` for. */
  readonly onRoom: () => void;
  /** There are segments that are less than half full. */
  readonly onSparse: () => void;
  /** Aborts when everything is about to end: then nothing is waited for any more. */
  readonly closing: AbortSignal;
  /** Whether copies that are gathered must be written at once. */
  readonly haste: Haste;
}
