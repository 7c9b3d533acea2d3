import type { BatchLimits, Line } from './line.js';

/** A batch is to take about so long: samples of a longer one come late, a shorter one costs more than it reads. */
const BATCH_MS = 2;
/** Storage whose fastest reads, one at a time, take no longer is as fast as memory: so much are five trips through Node's thread pool. */
const FAST_READ_MS = 0.7;
/** Samples of a batch that take longer each are requests to slow storage, that would better be made one by one. */
const SLOW_SAMPLE_MS = 0.25;
const MOST_SAMPLES = 32;
/** The last batch's part in the mean. */
const NEWEST = 0.25;
/** What a read adds to the time of the fastest one before it is forgotten: doubles it in some hundred reads. */
const FORGETTING = 1.01;
/** Batches that a producer's part of the memory is to hold, so that one is read while others wait. */
const BATCHES_IN_MEMORY = 2;

/**
 * How many samples a producer reads at once. From storage that is as fast as memory a promise a sample costs more than
 * the reading; from slow storage each read is a request of its own, so that producers count requests.
 */
export class BatchSize {
  /** Milliseconds of the fastest read of a single sample lately: others may have waited for each other. */
  #fastestMs = Infinity;
  /** Milliseconds a sample, of batches; undefined while samples are read one by one. */
  #sampleMs: number | undefined;

  /** @param most Requests at the same time, over all producers: a batch may be as many as it has samples. */
  limits({ memory, readsBatches }: Line, producers: number, most: number): BatchLimits {
    const isFast = readsBatches && (this.#sampleMs !== undefined || this.#fastestMs <= FAST_READ_MS);
    const samples = isFast
      ? Math.min(BATCH_MS / (this.#sampleMs ?? SLOW_SAMPLE_MS), MOST_SAMPLES, most / producers)
      : 1;
    return {
      samples: Math.max(1, Math.floor(samples)),
      bytes: memory.limit / (producers * BATCHES_IN_MEMORY),
    };
  }

  observe(samples: number, ms: number): void {
    if (samples === 1) {
      this.#fastestMs = Math.min(ms, this.#fastestMs * FORGETTING);
      return;
    }
    const mean = ms / samples;
    this.#sampleMs = this.#sampleMs === undefined ? mean : this.#sampleMs + NEWEST * (mean - this.#sampleMs);
    if (this.#sampleMs <= SLOW_SAMPLE_MS) return;
    this.#sampleMs = undefined;
    this.#fastestMs = Infinity;
  }
}
