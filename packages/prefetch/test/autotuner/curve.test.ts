import { expect, it } from 'vitest';
import { Curve, LONG_STRIDE } from '../../src/autotuner/curve.js';
import { Totals } from '../../src/autotuner/totals.js';

const MOST = 64;
const MEASURED_MS = 100;

/** A window in which consumers always waited, with so many reads a millisecond. */
function window(producers: number, readsPerMs: number): Totals {
  const samples = readsPerMs * MEASURED_MS;
  const nothing = { samples: 0, bytes: 0, ms: 0 };
  return Totals.of({
    elapsedMs: MEASURED_MS,
    tuning: { producers, memoryBytes: 1, samples: Infinity },
    read: { samples, bytes: 1000 * samples, ms: producers * MEASURED_MS },
    taken: nothing,
    starvedMs: MEASURED_MS,
    fullMs: 0,
    busyProducers: producers,
    usableProducers: MOST,
    usage: { records: 0, sum: 0, sumOfSquares: 0 },
  });
}

/** Where a search ends that began with a glance at few producers and was at all of them then. */
function searched(readsPerMs: (producers: number) => number): number {
  const curve = new Curve();
  curve.at(8).add(window(8, readsPerMs(8)));
  let producers = MOST;
  for (let windows = 0; windows < 200; windows++) {
    curve.at(producers).add(window(producers, readsPerMs(producers)));
    const step = curve.next(producers, MOST, LONG_STRIDE);
    if (step.settled) return step.producers;
    producers = step.producers;
  }
  throw new Error('the search does not end');
}

it.each([
  [24, 8],
  [20, 15],
  [12, 6],
])('a search that has left out the best number finds it, or comes close: %i', (best, width) => {
  const readsPerMs = (producers: number) => 10 / (1 + ((producers - best) / width) ** 2);
  expect(readsPerMs(searched(readsPerMs))).toBeGreaterThanOrEqual(0.9 * readsPerMs(best));
});

it.each([8, 16, 40, 64])('a search that was at all producers finds the knee: %i', (knee) => {
  const found = searched((producers) => Math.min(producers, knee));
  expect(found).toBeGreaterThanOrEqual(0.95 * knee);
  expect(found).toBeLessThanOrEqual(knee + 2);
});
