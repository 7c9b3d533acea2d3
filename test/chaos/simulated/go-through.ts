import type { ManualClock } from '@tiered/core/testing';
import type { Figures } from '../figures.js';
import { KEYS, type Dataset } from './dataset.js';
import type { UnderWay } from './under-way.js';

/** What happens in a world: the objects that are there at first, and the steps. */
interface ScheduleOf<Step> {
  readonly sizes: readonly number[];
  readonly steps: readonly Step[];
}

/** A world that a schedule happens in. */
interface Scheduled<Step> {
  readonly clock: ManualClock;
  readonly dataset: Dataset;
  readonly underWay: UnderWay;
  readonly figures: Figures;
  readonly make: (step: Step) => Promise<void>;
  /** After the last step. */
  readonly end: () => Promise<void>;
}

/**
 * Goes through a schedule, and counts that.
 * @throws Finding for what must not be.
 */
export async function goThrough<Step>(
  { sizes, steps }: ScheduleOf<Step>,
  { clock, dataset, underWay, figures, make, end }: Scheduled<Step>,
): Promise<void> {
  figures.schedules += 1;
  for (const [i, size] of sizes.entries()) {
    const key = KEYS[i];
    if (key !== undefined && size > 0) await dataset.put(key, size);
  }
  for (const step of steps) {
    figures.steps += 1;
    await make(step);
    await clock.advance(1);
    underWay.throwFinding();
  }
  await end();
}
