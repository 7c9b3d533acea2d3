import type { PlaceProfile } from './profile.js';

/** How often each point is measured. The median of three is right even if one is wrong. */
export const ROUNDS = 3;

const MOST_TIMES = 1000;

/**
 * The rates of one curve. Each point is measured several times, with the other points in between, because a
 * load on the machine comes and goes.
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

  /** The highest rate over the lowest, at the point where that is most; 1 if all are equal. */
  get spread(): number {
    return Math.max(1, ...[...this.#rates.values()].map(timesIn));
  }
}

/** The highest rate over the lowest; the largest number that a file can hold if one try gave nothing. */
function timesIn(rates: readonly number[]): number {
  return Math.min(MOST_TIMES, Math.max(...rates) / Math.min(...rates)) || MOST_TIMES;
}

function median(rates: readonly number[]): number {
  return [...rates].sort((a, b) => a - b)[rates.length >> 1] ?? 0;
}
