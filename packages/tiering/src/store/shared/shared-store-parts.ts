import type { Clock, Tier } from '@tiered/core';
import type { IndexHome } from '@tiered/core/driver';
import type { Checksum } from '@tiered/core/internal';
import type { FlushUrgency } from '../../memory/flush-urgency.js';
import type { DatasetName } from '../../index/open-index.js';
import type { TierEvents } from '../../tier/tier-events.js';

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
  readonly events: TierEvents;
  /** Aborts when everything is about to end: then nothing is waited for any more. */
  readonly closing: AbortSignal;
  /** Whether copies that are gathered must be written at once. */
  readonly urgency: FlushUrgency;
}
