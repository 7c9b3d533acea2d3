import type { BatchLimits, Line } from './line.js';

/** A batch is to take about so long: samples of a longer one come late, a shorter one costs more than it reads. */
const BATCH_MS = 2;
/** Objects that take longer are read one at a time: waiting is then what costs, and a batch would be many requests. */
const SLOW_MS = 0.25;
const MOST_SAMPLES = 32;
/** The last read's part in the mean. */
const NEWEST = 0.25;
/** Batches that a producer's part of the memory is to hold, so that one is read while others wait. */
const BATCHES_IN_MEMORY = 4;

/**
 * How many samples a producer reads at once. From storage that is as fast as memory a promise a sample costs more than
 * the reading; from slow storage each read is a request of its own, so that producers count requests.
 */
export class BatchSize {
  #meanMs: number | undefined;

  /** @param most Requests at the same time, over all producers: a batch may be as many as it has samples. */
  limits({ memory, readsBatches }: Line, producers: number, most: number): BatchLimits {
    const mean = this.#meanMs ?? SLOW_MS;
    const isSlow = mean >= SLOW_MS || !readsBatches;
    const samples = isSlow ? 1 : Math.min(MOST_SAMPLES, BATCH_MS / mean, most / producers);
    return {
      samples: Math.max(1, Math.floor(samples)),
      bytes: memory.limit / (producers * BATCHES_IN_MEMORY),
    };
  }

  observe(samples: number, ms: number): void {
    const mean = ms / samples;
    this.#meanMs = this.#meanMs === undefined ? mean : this.#meanMs + NEWEST * (mean - this.#meanMs);
  }
}
