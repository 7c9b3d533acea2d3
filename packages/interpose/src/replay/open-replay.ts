import type { Clock, Hierarchy } from '@tiered/core';
import type { Placement } from '@tiered/core/placement';
import { configError } from '@tiered/core/internal';
import type { Parts } from '../daemon/parts.js';
import { Ahead, type Evicting } from './ahead.js';
import { Plan } from './plan.js';
import { Recorder } from './recorder.js';

/** The plan and the record, and the parts that they need. */
export interface ReplayParts {
  readonly plan?: AsyncIterable<string> | undefined;
  readonly record?: string | undefined;
  readonly hierarchy: Hierarchy;
  /** The placement of the hierarchy. */
  readonly placement: Placement | undefined;
  readonly clock: Clock;
}

/** Reads the plan, and begins to record, if there are any. */
export async function openReplay(
  { plan, record, hierarchy, placement, clock }: ReplayParts,
  parts: Parts,
): Promise<{ readonly ahead: Ahead | undefined; readonly recorder: Recorder | undefined }> {
  let ahead: Ahead | undefined;
  if (plan !== undefined) {
    if (!evicts(placement)) throw configError('placement', 'a PlacementHandler, which can evict', placement);
    const made = { hierarchy, placement, plan: await Plan.from(plan, hierarchy.namespace), clock };
    ahead = parts.add(new Ahead(made));
  }
  const recorder = record === undefined ? undefined : parts.add(await Recorder.to(record, clock));
  return { ahead, recorder };
}

const evicts = (placement: unknown): placement is Evicting =>
  typeof (placement as Partial<Evicting> | undefined)?.evict === 'function';
