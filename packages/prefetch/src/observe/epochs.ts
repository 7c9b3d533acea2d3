import { statsBetween, type Clock, type HierarchyStats } from '@tiered/core';
import { figuresOf, type Figures, type Settings } from './figures.js';
import { Meter } from './meter.js';
import type { SampleSource } from '../source.js';
import { verdictOf, type Verdict } from './verdict.js';

/** Epochs that are kept, the last ones. */
const EPOCHS_KEPT = 32;

/**
 * What was measured of one epoch: from its first sample that consumers took, or the beginning, to that of the
 * next, or until now.
 */
export interface EpochProfile extends Figures {
  readonly epoch: number;
  /**
   * What all reads of the hierarchy came to in that time, by level, the source last. Empty if the source has
   * no `stats`.
   */
  readonly levels: readonly LevelReads[];
  /** What limited the loader. */
  readonly verdict: Verdict;
}

/** What a level of a hierarchy gave. */
export interface LevelReads {
  readonly driver: string;
  /**
   * Reads that a tier served, or requests to the source: one for each chunk or range, whoever waited for it.
   */
  readonly reads: number;
  readonly bytes: number;
}

/** Measures the epochs of one sequence, each on its own. */
export class Epochs {
  /** That of the epoch that consumers are in. */
  meter: Meter;
  readonly #clock: Clock;
  readonly #source: SampleSource;
  #statsBefore: HierarchyStats | undefined;
  #epoch: number | undefined;
  #hasEnded = false;
  readonly #ended: EpochProfile[] = [];

  constructor(clock: Clock, source: SampleSource) {
    this.#clock = clock;
    this.#source = source;
    this.#statsBefore = source.stats?.();
    this.meter = new Meter(clock);
  }

  /** The epoch that consumers are in. */
  get epoch(): number | undefined {
    return this.#epoch;
  }

  /**
   * Consumers take samples of this epoch.
   * @param longer What was counted since the buffer was made, for what the epoch alone does not show.
   */
  enter(epoch: number, settings: Settings, longer: Meter): void {
    if (this.#hasEnded) return;
    if (this.#epoch !== undefined && epoch > this.#epoch) {
      this.#keep(this.#profile(this.#epoch, settings, longer));
      this.#statsBefore = this.#source.stats?.();
      this.meter = new Meter(this.#clock, this.meter);
    }
    this.#epoch = Math.max(epoch, this.#epoch ?? 0);
  }

  /** Nothing more is taken: what follows is not counted. */
  end(settings: Settings, longer: Meter): void {
    if (this.#hasEnded) return;
    this.#keep(this.#profile(this.#epoch ?? 0, settings, longer));
    this.#hasEnded = true;
  }

  /** The last 32 epochs, in order. The last of them may be under way. */
  profiles(settings: Settings, longer: Meter): EpochProfile[] {
    if (this.#hasEnded) return [...this.#ended];
    return [...this.#ended, this.#profile(this.#epoch ?? 0, settings, longer)].slice(-EPOCHS_KEPT);
  }

  #keep(profile: EpochProfile): void {
    if (this.#ended.length === EPOCHS_KEPT) this.#ended.shift();
    this.#ended.push(profile);
  }

  #profile(epoch: number, settings: Settings, longer: Meter): EpochProfile {
    const figures = figuresOf(this.meter, settings, longer);
    const [before, now] = [this.#statsBefore, this.#source.stats?.()];
    const stats = before === undefined || now === undefined ? undefined : statsBetween(before, now);
    const verdict = verdictOf(figures, stats);
    return { ...figures, epoch, levels: levelsOf(stats), verdict };
  }
}

/** What each level gave, the source last. */
export function levelsOf(stats: HierarchyStats | undefined): LevelReads[] {
  if (stats === undefined) return [];
  return [...stats.tiers, stats.source].map(({ driver, reads, readBytes }) => ({
    driver,
    reads,
    bytes: readBytes,
  }));
}
