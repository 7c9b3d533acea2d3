/**
 * What the paper leaves open, where the answer moves the result. docs/simulator.md says why the defaults are what they
 * are, and how far the published figures move with each.
 */
export interface Assumptions {
  /**
   * To whom t(gamma)/gamma belongs. `'worker'`: to all threads of a worker together, so that all workers never read more
   * than t(gamma). `'thread'`: to each prefetch thread, which is the letter of avail and fetch, and lets N workers read
   * p_0 times t(gamma). Default: `'worker'`.
   */
  readonly sourceShare: 'worker' | 'thread';
  /**
   * What gamma is for workers that read ahead. `'average'`: one, and of every other worker the part of its time in which it
   * reads from the source. `'all'`: all workers, always. Default: `'average'`. Without reading ahead all workers wait for
   * the source at the same time, and gamma is N.
   */
  readonly gamma: 'average' | 'all';
}

/** The defaults of `Assumptions`. */
export const DEFAULT_ASSUMPTIONS: Assumptions = { sourceShare: 'worker', gamma: 'average' };
