import { inOrderOfAccess } from './access-order.js';
import { UNPLANNED } from './frequency-plan.js';

/** Options of `fillOrder`. */
export interface FillOrderOptions {
  /** As `frequencyPlan` makes it. */
  readonly plan: Uint8Array;
  /** As `frequencyPlan` was given it. */
  readonly first: ArrayLike<number>;
  /** Only the samples of this level. Default: those of all levels. */
  readonly level?: number | undefined;
}

/**
 * The samples that a plan has a level for, in the order in which the worker first reads them: the order to fetch them in
 * (HDMLP, section 5.1), so that as many as can be are there before they are read. For `placeInOrder`.
 *
 * O(samples) time, 16 bytes a planned sample while it works, 4 kept.
 */
export function fillOrder({ plan, first, level }: FillOrderOptions): Uint32Array {
  const isPlanned = (sample: number) =>
    level === undefined ? plan[sample] !== UNPLANNED : plan[sample] === level;
  return inOrderOfAccess(first, isPlanned);
}
