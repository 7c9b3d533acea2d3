/**
 * Answers to questions that the paper leaves open and that affect the result. docs/simulator.md gives the
 * reasons for the defaults, and how far the published figures move with each.
 */
export interface Assumptions {
  /**
   * Who gets a share of t(gamma)/gamma. `'worker'`: all threads of a worker together, so that all workers
   * never read more than t(gamma). `'thread'`: each prefetch thread, which follows avail and fetch literally,
   * and lets N workers read p_0 times t(gamma). Default: `'worker'`.
   */
  readonly sourceShare: 'worker' | 'thread';
  /**
   * The value of gamma for workers that read ahead. `'average'`: one, plus for every other worker the part of
   * its time in which it reads from the source. `'all'`: always all workers. Default: `'average'`. Without
   * reading ahead all workers wait for the source at the same time, and gamma is N.
   */
  readonly gamma: 'average' | 'all';
}

/** The defaults of `Assumptions`. */
export const DEFAULT_ASSUMPTIONS: Assumptions = { sourceShare: 'worker', gamma: 'average' };
