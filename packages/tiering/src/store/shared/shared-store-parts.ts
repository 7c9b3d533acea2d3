import type { Clock, Tier } from '@tiered/core';
import type { IndexHome } from '@tiered/core/driver';
import type { Checksum } from '@tiered/core/internal';
import type { FlushUrgency } from '../../memory/flush-urgency.js';
import type { DatasetName } from '../../index/open-index.js';
import type { TierEvents } from '../../tier/tier-events.js';

/** Dependencies of `SharedStore`. */
export interface SharedStoreParts extends DatasetName {
  readonly tier: Tier;
  readonly home: IndexHome;
  /** The dataset whose objects are placed. Copies of other datasets are left alone. */
  readonly dataset: string;
  /** Called if the tier has copies of a former dataset at the same place, and none of this one. */
  readonly onReplaced: () => void;
  readonly checksum: Checksum;
  readonly clock: Clock;
  readonly events: TierEvents;
  /** Aborts when everything is about to end. Then nothing is waited for any more. */
  readonly closing: AbortSignal;
  /** Whether gathered copies must be written at once. */
  readonly urgency: FlushUrgency;
}
