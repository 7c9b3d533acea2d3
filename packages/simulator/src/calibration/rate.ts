import type { Clock } from '@tiered/core';
import type { PlaceProfile } from './profile.js';

/** The budget of one measurement. */
export interface Budget {
  readonly ms: number;
  readonly bytes: number;
}

/** One of the workers of a measurement. */
export interface Lane {
  /** Runs its next operation, and resolves to the bytes; undefined if there are no more. */
  readonly next: () => Promise<number | undefined>;
  /** Whether it is inside a unit that has to be counted as a whole. Default: never. */
  readonly isWithin?: () => boolean;
}

/** Shortest time of a measurement, so that nothing is divided by zero. */
const LEAST_MS = 1e-3;

/** Least operations of each lane: the first ones meet cold connections and caches. */
const ROUNDS = 2;

/**
 * Measures the MB/s of this many operations at a time.
 *
 * Continues until the time or the bytes are used up, or there are no more operations. It makes at least two
 * rounds, so that a budget that is too small still gives a figure, and lets lanes finish the unit they are
 * in. A failed operation ends it, because unreadable data has no rate.
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

/** Measurements of each point. The median of three is right even if one is wrong. */
export const REPEATS = 3;

const MOST_TIMES = 1000;

/**
 * The rates of one curve. Each point is measured several times, with the other points in between, because
 * other load on the machine comes and goes.
 */
export class Repeats {
  readonly #rates = new Map<number, number[]>();

  add(concurrency: number, rate: number): void {
    const rates = this.#rates.get(concurrency) ?? [];
    rates.push(rate);
    this.#rates.set(concurrency, rates);
  }

  /** The median at each point. */
  get curve(): PlaceProfile['read'] {
    return { points: [...this.#rates].map(([concurrency, rates]) => [concurrency, median(rates)]) };
  }

  /** The highest rate over the lowest, at the point where this ratio is largest; 1 if all are equal. */
  get spread(): number {
    return Math.max(1, ...[...this.#rates.values()].map(timesIn));
  }
}

/**
 * The highest rate over the lowest; the largest number that a file can hold if one measurement gave nothing.
 */
function timesIn(rates: readonly number[]): number {
  return Math.min(MOST_TIMES, Math.max(...rates) / Math.min(...rates)) || MOST_TIMES;
}

function median(rates: readonly number[]): number {
  return [...rates].sort((a, b) => a - b)[rates.length >> 1] ?? 0;
}
