import { statsBetween, type Clock, type HierarchyStats } from '@tiered/core';
import type { TuningEvent } from '../autotuner/autotuner.js';
import type { RequestOrigin } from '../request.js';
import { figuresOf, type Figures, type Settings } from './figures.js';
import { Meter } from './meter.js';
import { verdictOf, type Verdict } from './verdict.js';

/** How many epochs are kept: the last ones. */
const EPOCHS_KEPT = 32;

/**
 * Measurements of a staging buffer since it was made, like those of PRISMA's profiler (thesis, section
 * 4.2.6), and what they mean.
 */
export interface Profile extends Figures {
  /** Mean part of the buffer that was in use when samples came and went, 0 to 1. */
  readonly occupancy: number;
  /** The last decisions of the autotuner, each with the observation behind it. */
  readonly decisions: readonly TuningEvent[];
  /** What limits this loader. */
  readonly verdict: Verdict;
}

/** Makes a profile from the counts of a meter. */
export function profileOf(meter: Meter, settings: Settings, decisions: readonly TuningEvent[]): Profile {
  const { usageRecords, usageSum } = meter.totals();
  const occupancy = usageRecords === 0 ? 0 : usageSum / usageRecords / 100;
  const figures = figuresOf(meter, settings);
  return { ...figures, occupancy, decisions, verdict: verdictOf(figures) };
}

/**
 * Measurements of one epoch. It lasts from the first sample of it that consumers took, or from the beginning,
 * to the first sample of the next epoch, or until now.
 */
export interface EpochProfile extends Figures {
  readonly epoch: number;
  /**
   * All reads of the hierarchy in that time, by level, the source last. Empty if the source has no `stats`.
   */
  readonly levels: readonly LevelReads[];
  /** What limited the loader. */
  readonly verdict: Verdict;
}

/** The reads that one level of a hierarchy served. */
export interface LevelReads {
  readonly driver: string;
  /**
   * Reads that a tier served, or requests to the source. A request is counted once for each chunk or range,
   * however many readers waited for it.
   */
  readonly reads: number;
  readonly bytes: number;
}

/** Measures each epoch of a sequence separately. */
export class Epochs {
  /** Counts for the epoch that consumers are in. */
  meter: Meter;
  readonly #clock: Clock;
  readonly #origin: RequestOrigin;
  #statsBefore: HierarchyStats | undefined;
  #epoch: number | undefined;
  #hasEnded = false;
  readonly #ended: EpochProfile[] = [];

  constructor(clock: Clock, origin: RequestOrigin) {
    this.#clock = clock;
    this.#origin = origin;
    this.#statsBefore = origin.stats?.();
    this.meter = new Meter(clock);
  }

  /** The epoch that consumers are in. */
  get epoch(): number | undefined {
    return this.#epoch;
  }

  /**
   * Notes that consumers take samples of this epoch.
   * @param longer The counts since the buffer was made. They fill in what the epoch alone does not show.
   */
  enter(epoch: number, settings: Settings, longer: Meter): void {
    if (this.#hasEnded) return;
    if (this.#epoch !== undefined && epoch > this.#epoch) {
      this.#keep(this.#profile(this.#epoch, settings, longer));
      this.#statsBefore = this.#origin.stats?.();
      this.meter = new Meter(this.#clock, this.meter);
    }
    this.#epoch = Math.max(epoch, this.#epoch ?? 0);
  }

  /** Stops counting, because nothing more will be taken. */
  end(settings: Settings, longer: Meter): void {
    if (this.#hasEnded) return;
    this.#keep(this.#profile(this.#epoch ?? 0, settings, longer));
    this.#hasEnded = true;
  }

  /** Returns the last 32 epochs, in order. The last one may still be in progress. */
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
    const [before, now] = [this.#statsBefore, this.#origin.stats?.()];
    const stats = before === undefined || now === undefined ? undefined : statsBetween(before, now);
    const verdict = verdictOf(figures, stats);
    return { ...figures, epoch, levels: levelsOf(stats), verdict };
  }
}

/**
 * Returns the hit ratio by bytes, 0 to 1: the part of all bytes that tiers served, or peers from theirs.
 * Undefined if nothing was read, or if the place of reads is unknown.
 * @param levels Levels of an epoch, as in `EpochProfile.levels`: the source is the last one.
 */
export function hitRatioOf(levels: readonly Pick<LevelReads, 'bytes'>[]): number | undefined {
  const all = levels.reduce((sum, { bytes }) => sum + bytes, 0);
  return all === 0 ? undefined : 1 - (levels.at(-1)?.bytes ?? 0) / all;
}

/** Returns the reads of each level, the source last. The peers of a cluster are a level. */
export function levelsOf(stats: HierarchyStats | undefined): LevelReads[] {
  if (stats === undefined) return [];
  const peers = stats.peers === undefined ? [] : [{ driver: 'peers', ...stats.peers }];
  return [...stats.tiers, ...peers, stats.source].map(({ driver, reads, readBytes }) => ({
    driver,
    reads,
    bytes: readBytes,
  }));
}
