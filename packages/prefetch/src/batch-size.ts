import type { BatchLimits } from './line-parts.js';
import type { Line } from './line.js';

/** A batch is to take about so long: samples of a longer one come late, a shorter one costs more than it reads. */
const BATCH_MS = 2;
/** Storage whose fastest reads, one at a time, take no longer is as fast as memory: so much are five trips through Node's thread pool. */
const FAST_READ_MS = 0.7;
/** Samples of a batch that take longer each are requests to slow storage, that would better be made one by one. */
const SLOW_SAMPLE_MS = 0.4;
/** Slow batches after which it is not chance: a thread that starts, memory that nobody has touched. */
const SLOW_IN_A_ROW = 8;
/** What they are taken to take at first. */
const EXPECTED_SAMPLE_MS = 0.1;
/** Reads one by one after which a batch is tried again; doubles each time that it turns out to be slow. */
const FIRST_PAUSE = 512;
const LAST_PAUSE = 65_536;
/** A message between threads is cheap enough for so many; more would let a thread wait while the next batch is put together. */
const MOST_SAMPLES = 16;
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
  /** Milliseconds a sample, of batches. */
  #sampleMs = EXPECTED_SAMPLE_MS;
  #slowInARow = 0;
  #isFast = false;
  #pause = FIRST_PAUSE;
  #singles = 0;

  /** @param most Requests that may be made beside those under way: a batch may be as many as it has samples. */
  limits({ memory, readsBatches }: Line, producers: number, most: number): BatchLimits {
    const isFast = readsBatches && this.#isFast;
    const wanted = isFast ? Math.min(BATCH_MS / this.#sampleMs, MOST_SAMPLES, most) : 1;
    const samples = Math.max(1, Math.floor(wanted));
    // With batches, fewer producers can be at work at the same time.
    const atWork = Math.min(producers, Math.max(1, most / samples));
    return { samples, bytes: memory.limit / (atWork * BATCHES_IN_MEMORY) };
  }

  observe(samples: number, ms: number): void {
    if (samples === 1) this.#observeSingle(ms);
    else this.#observeBatch(ms / samples);
  }

  #observeBatch(sampleMs: number): void {
    this.#sampleMs += NEWEST * (Math.min(sampleMs, SLOW_SAMPLE_MS) - this.#sampleMs);
    this.#slowInARow = sampleMs <= SLOW_SAMPLE_MS ? 0 : this.#slowInARow + 1;
    if (this.#slowInARow < SLOW_IN_A_ROW) return;
    this.#isFast = false;
    this.#slowInARow = 0;
    this.#sampleMs = EXPECTED_SAMPLE_MS;
    this.#fastestMs = Infinity;
    this.#singles = 0;
    this.#pause = Math.min(LAST_PAUSE, this.#pause * 2);
  }

  #observeSingle(ms: number): void {
    this.#fastestMs = Math.min(ms, this.#fastestMs * FORGETTING);
    this.#singles += 1;
    const wasFast = this.#pause > FIRST_PAUSE;
    // Once it was fast, reads one by one may only be slow because there are so many.
    this.#isFast ||= this.#fastestMs <= FAST_READ_MS || (wasFast && this.#singles >= this.#pause);
  }
}
