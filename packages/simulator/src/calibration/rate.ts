import type { Clock } from '@tiered/core';

/** What one measurement may take. */
export interface Budget {
  readonly ms: number;
  readonly bytes: number;
}

/** One of the workers of a measurement. */
export interface Lane {
  /** Makes its next operation, and resolves to the bytes; undefined if there is no more. */
  readonly next: () => Promise<number | undefined>;
  /** Whether it is within something that has to be counted as a whole. Default: never. */
  readonly isWithin?: () => boolean;
}

/** Shortest time of a measurement, so that nothing is divided by zero. */
const LEAST_MS = 1e-3;

/** Least operations of each lane: the first ones meet cold connections and caches. */
const ROUNDS = 2;

/**
 * Measures the MB/s of this many operations at a time.
 *
 * Goes on until the time or the bytes are used up, or there are no more operations. It makes at least two
 * rounds, so that a budget that is too small still gives a figure, and lets lanes finish what they are
 * within. An operation that fails ends it: what cannot be read has no rate.
 * @param lanes Each makes its operations one after the other.
 */
export async function rateOf(lanes: readonly Lane[], budget: Budget, clock: Clock): Promise<number> {
  const start = clock.now();
  let begun = 0;
  let bytes = 0;
  const goesOn = () =>
    begun++ < ROUNDS * lanes.length || (bytes < budget.bytes && clock.now() - start < budget.ms);
  const worker = async (lane: Lane) => {
    while (goesOn() || lane.isWithin?.() === true) {
      const moved = await lane.next();
      if (moved === undefined) return;
      bytes += moved;
    }
  };
  const ended = await Promise.allSettled(lanes.map(worker));
  for (const outcome of ended) if (outcome.status === 'rejected') throw outcome.reason;
  return bytes / 1000 / Math.max(LEAST_MS, clock.now() - start);
}
