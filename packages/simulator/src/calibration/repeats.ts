import type { PlaceProfile } from './profile.js';

/** Each point is measured so often. Of three the median is right while one is not. */
export const ROUNDS = 3;

const MOST_TIMES = 1000;

/** Rates of one curve, each point measured several times, with the other points in between: what keeps a machine busy comes and goes. */
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

  /** How often the highest rate is the lowest one, at the point where that is most: 1 if all are equal. */
  get spread(): number {
    return Math.max(1, ...[...this.#rates.values()].map(timesIn));
  }
}

/** How often the lowest rate is in the highest one; as much as a file can say, if one try gave nothing. */
function timesIn(rates: readonly number[]): number {
  return Math.min(MOST_TIMES, Math.max(...rates) / Math.min(...rates)) || MOST_TIMES;
}

function median(rates: readonly number[]): number {
  return [...rates].sort((a, b) => a - b)[rates.length >> 1] ?? 0;
}
