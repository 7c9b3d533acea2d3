import type { ManualClock } from '@tiered/core/testing';
import type { Figures } from '../figures.js';
import type { UnderWay } from './under-way.js';

/** A world that steps happen in. */
interface Scheduled<Step> {
  readonly clock: ManualClock;
  readonly underWay: UnderWay;
  readonly figures: Figures;
  readonly make: (step: Step) => Promise<void>;
  /** After the last step. */
  readonly end: () => Promise<void>;
}

/**
 * Goes through the steps of a schedule, and counts that.
 * @throws Finding for what must not be.
 */
export async function goThrough<Step>(
  steps: readonly Step[],
  { clock, underWay, figures, make, end }: Scheduled<Step>,
): Promise<void> {
  figures.schedules += 1;
  for (const step of steps) {
    figures.steps += 1;
    await make(step);
    await clock.advance(1);
    underWay.throwFinding();
  }
  await end();
}
