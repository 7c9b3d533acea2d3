import type { Clock, Hierarchy } from '@tiered/core';
import type { Placement } from '@tiered/core/placement';
import { configError } from '@tiered/core/internal';
import { Ahead, type Evicting } from './ahead.js';
import { Plan } from './plan.js';
import { Recorder } from './recorder.js';

/** What is planned and recorded, and what that needs. */
export interface ReplayParts {
  readonly plan?: AsyncIterable<string> | undefined;
  readonly record?: string | undefined;
  readonly hierarchy: Hierarchy;
  /** That of the hierarchy. */
  readonly placement: Placement | undefined;
  readonly clock: Clock;
}

/** Reads the plan, and begins to record, if there are any. */
export async function openReplay(
  { plan, record, hierarchy, placement, clock }: ReplayParts,
  closers: (() => unknown)[],
): Promise<{ readonly ahead: Ahead | undefined; readonly recorder: Recorder | undefined }> {
  let ahead: Ahead | undefined;
  if (plan !== undefined) {
    if (!evicts(placement)) throw configError('placement', 'a PlacementHandler, which can evict', placement);
    ahead = new Ahead({ hierarchy, placement, plan: await Plan.from(plan, hierarchy.namespace), clock });
    closers.push(() => ahead?.close());
  }
  const recorder = record === undefined ? undefined : await Recorder.to(record, clock);
  closers.push(() => recorder?.close());
  return { ahead, recorder };
}

const evicts = (placement: unknown): placement is Evicting =>
  typeof (placement as Partial<Evicting> | undefined)?.evict === 'function';
