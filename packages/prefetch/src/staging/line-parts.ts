import type { Clock } from '@tiered/core';
import type { AccessFeed } from '../sequence/access-feed.js';
import type { Access } from '../sequence/access-sequence.js';
import type { Lending } from './lender.js';
import type { LineMemory } from './line-memory.js';
import type { Line } from './line.js';
import type { ResumedAt } from './look-ahead.js';
import type { Skips } from './skips.js';
import type { SampleSource } from '../source.js';
import type { PrefetcherState } from '../state.js';

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
  moved(line: Line, taken: Taken): void;
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

/** Where a line stands. */
export interface LinePosition extends Pick<PrefetcherState, 'taken' | 'early'> {
  readonly next: Access | undefined;
}

/** What a line is made of. */
export interface LineParts {
  readonly source: SampleSource;
  /** Makes the feed of its sequence, which calls back when an access has come. */
  readonly accesses: (onReady: () => void) => AccessFeed;
  readonly resumed: ResumedAt | undefined;
  readonly weight: number;
  readonly lending: Lending;
  readonly skips: Skips;
  /** Called once, when the last sample was taken or the line has failed. */
  readonly onEnd: () => void;
  readonly memory: LineMemory;
  readonly host: LineHost;
}
