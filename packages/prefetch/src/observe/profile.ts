import type { TuningEvent } from '../autotuner/autotuner.js';
import { figuresOf, type Figures, type Settings } from './figures.js';
import type { Meter } from './meter.js';
import { verdictOf, type Verdict } from './verdict.js';

/**
 * What a staging buffer has measured since it was made, as PRISMA's profiler does (thesis, section 4.2.6),
 * and what it means.
 */
export interface Profile extends Figures {
  /** Mean part of the buffer that was in use when samples came and went, 0 to 1. */
  readonly occupancy: number;
  /** The last decisions of the autotuner, each with the observation behind it. */
  readonly decisions: readonly TuningEvent[];
  /** What limits this loader. */
  readonly verdict: Verdict;
}

/** Makes a profile of what was counted. */
export function profileOf(meter: Meter, settings: Settings, decisions: readonly TuningEvent[]): Profile {
  const { usageRecords, usageSum } = meter.totals();
  const occupancy = usageRecords === 0 ? 0 : usageSum / usageRecords / 100;
  const figures = figuresOf(meter, settings);
  return { ...figures, occupancy, decisions, verdict: verdictOf(figures) };
}
