import type { Clock } from '@tiered/core';
import type { AccessFeed } from '../sequence/access-feed.js';
import type { Lending } from './lender.js';
import type { LineMemory } from './line-memory.js';
import type { Skips } from './skips.js';
import type { StartPosition } from '../sequence/position.js';
import type { SampleSource } from '../source.js';

/** What a line tells the staging buffer that it belongs to. */
export interface LineHost {
  readonly clock: Clock;
  /** Something may be admitted, or is wanted: a consumer came or left, or an access has come. */
  wake(): void;
  /** Memory was given back. Told for each sample, so that it has to cost nothing while there is room anyway. */
  released(): void;
  /** So many more consumers wait. */
  starving(change: number): void;
  /** The next sample had no room when its turn came. Told once for each. */
  refused(): void;
  /** A sample was put in or taken out. */
  moved(taken: Taken): void;
}

/** What consumers took at once, of one epoch. */
export interface Taken {
  readonly samples: number;
  readonly bytes: number;
  readonly epoch: number;
}

/** How much of the next samples a producer takes at once. */
export interface BatchLimits {
  readonly samples: number;
  readonly bytes: number;
}

/** What a line is made of. */
export interface LineParts {
  readonly source: SampleSource;
  /** Makes the feed of its sequence, which calls back when an access has come. */
  readonly accesses: (onReady: () => void) => AccessFeed;
  /** Where to begin. */
  readonly start: StartPosition;
  readonly weight: number;
  readonly lending: Lending;
  readonly skips: Skips;
  /** Called once, when the last sample was taken or the line has failed. */
  readonly onEnd: () => void;
  readonly memory: LineMemory;
  readonly host: LineHost;
}
