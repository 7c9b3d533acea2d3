import type { Clock } from '@tiered/core';

/** What one measurement may take. */
export interface Budget {
  readonly ms: number;
  readonly bytes: number;
}

/** One operation takes about so long at least, so that nothing is divided by nothing. */
const LEAST_MS = 1e-3;

/** Operations of each of those at a time, at least: the first of them meet cold connections and caches. */
const ROUNDS = 2;

/**
 * How many MB/s so many operations at a time come to.
 *
 * Goes on until the time or the bytes are used up, but for two rounds, so that a budget that is too small still gives a
 * figure. An operation that fails ends it: what cannot be read has no rate.
 * @param operation Makes the i-th operation, and resolves to its bytes.
 */
export async function rateOf(
  operation: (index: number) => Promise<number>,
  concurrency: number,
  budget: Budget,
  clock: Clock,
): Promise<number> {
  const start = clock.now();
  let begun = 0;
  let bytes = 0;
  const goesOn = () =>
    begun < ROUNDS * concurrency || (bytes < budget.bytes && clock.now() - start < budget.ms);
  const worker = async () => {
    while (goesOn()) {
      const moved = await operation(begun++);
      bytes += moved;
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: concurrency }, worker));
  for (const outcome of ended) if (outcome.status === 'rejected') throw outcome.reason;
  return bytes / 1000 / Math.max(LEAST_MS, clock.now() - start);
}
