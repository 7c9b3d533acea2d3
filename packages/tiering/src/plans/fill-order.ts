import { inOrderOfAccess } from './sorted-by.js';
import { UNPLANNED } from './frequency-plan.js';

/** Options of `fillOrder`. */
export interface FillOrderOptions {
  /** The plan, from `frequencyPlan`. */
  readonly plan: Uint8Array;
  /** The first accesses that were passed to `frequencyPlan`. */
  readonly first: ArrayLike<number>;
  /** Lists only the samples of this level. Default: all levels. */
  readonly level?: number | undefined;
}

/**
 * Lists the samples that a plan has a level for, in the order in which the worker first reads them. In this
 * order (HDMLP, section 5.1), as many samples as possible are fetched before they are read. For
 * `placeInOrder`.
 *
 * O(samples) time; 16 bytes per planned sample while it runs, 4 of which are kept.
 */
export function fillOrder({ plan, first, level }: FillOrderOptions): Uint32Array {
  const isPlanned = (sample: number) =>
    level === undefined ? plan[sample] !== UNPLANNED : plan[sample] === level;
  return inOrderOfAccess(first, isPlanned);
}
