import { systemClock } from '@tiered/core';

/** Ways to do the same work, by name; each resolves when the work is done. */
export type Setups = Readonly<Record<string, () => Promise<void>>>;

/** Milliseconds of each round, by setup. */
export type Timings = ReadonlyMap<string, readonly number[]>;

/**
 * Runs every setup once a round, each round beginning with another one, after one round that does not count.
 * What disturbs the machine disturbs all setups of a round alike, so compare them by `ratio` and not by their
 * times.
 */
export async function alternate(
  setups: Setups,
  rounds: number,
  onRound: (round: number) => void,
): Promise<Timings> {
  const names = Object.keys(setups);
  const timings = new Map<string, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    onRound(round);
    for (let i = 0; i < names.length; i++) {
      const name = names[(i + round) % names.length] ?? '';
      globalThis.gc?.();
      const start = systemClock.now();
      await setups[name]?.();
      const ms = systemClock.now() - start;
      if (round > 0) timings.get(name)?.push(ms);
    }
  }
  return timings;
}

/** How many times as fast as the baseline a setup was: the median over the rounds, pair by pair. */
export function ratio(timings: Timings, setup: string, baseline: string): number {
  const base = timings.get(baseline) ?? [];
  return median((timings.get(setup) ?? []).map((ms, round) => (base[round] ?? Number.NaN) / ms));
}

/** The middle one of some numbers. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

/** Milliseconds of a setup: the median over the rounds. */
export function medianMs(timings: Timings, setup: string): number {
  return median(timings.get(setup) ?? []);
}
