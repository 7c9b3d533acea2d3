import type { BatchLimits } from './admission.js';
import type { Place } from '../observe/places.js';

/** The facts about a queue that a batch size depends on. */
interface Batched {
  /** Whether its source reads many objects at once. */
  readonly readsBatches: boolean;
  readonly memory: { readonly limit: number };
}

/**
 * Target duration of a batch. The samples of a longer batch arrive late; a shorter batch costs more than its
 * reads.
 */
const BATCH_MS = 2;
/**
 * Batches are not tried if a read takes longer than this, divided by the number in flight. In Node's thread
 * pool the quotient is a third of this if the files are in memory.
 */
const FAST_READ_MS = 0.5;
/**
 * Storage is slow if even the fastest of many reads took longer, however many were in flight. If the files
 * are in memory, some reads find no other before them.
 */
const FASTEST_READ_MS = 4;
/**
 * A read this fast came from memory, however long other reads take. If the processor is busy with something
 * else, all reads wait for it, and batches cost it less. A trial then continues even after a slow batch,
 * because the next one may find the processor free.
 */
const READ_OF_MEMORY_MS = 1;
/** A batch that takes no longer than this per sample comes from storage that is as fast as memory. */
const FAST_SAMPLE_MS = 0.08;
/**
 * A batch that takes longer than this per sample consists of requests to slow storage, which are better made
 * one by one.
 */
const SLOW_SAMPLE_MS = 0.4;
/**
 * Slow batches in a row that are not due to chance, such as a thread that starts or memory that was never
 * touched.
 */
const SLOW_IN_A_ROW = 32;
/** The time per sample of a batch that is assumed at first. */
const EXPECTED_SAMPLE_MS = 0.1;
/** Single reads before a batch is tried. Each slow trial makes it four times as many. */
const FIRST_PAUSE = 16;
const LONGER = 4;
/** Most batches of a trial. The first ones may run on threads that have yet to warm up. */
const BATCHES_OF_A_TRY = 12;
const LAST_PAUSE = 65_536;
/**
 * Most samples of a batch. With this many, a message between threads is cheap enough. With more, a thread
 * would wait while the next batch is assembled.
 */
const MOST_SAMPLES = 16;
/**
 * Batches in flight, so that each of two threads has a next one. More would only evict memory from the
 * caches.
 */
const BATCHES_UNDER_WAY = 4;
/** The weight of the newest value in a mean. */
const NEWEST = 0.25;
/** Batches that a producer's part of the memory should hold, so that one is read while others wait. */
const BATCHES_IN_MEMORY = 2;

/**
 * Decides how many samples a producer reads at once. With storage that is as fast as memory, one promise per
 * sample costs more than the read. With slow storage, each read is a request of its own, so that producers
 * count requests. Single reads that wait for each other do not tell the two apart. So a few batches are tried
 * now and then while nothing else is read, and their times decide.
 */
export class BatchSize {
  /** Milliseconds per sample of a batch. */
  #sampleMs = EXPECTED_SAMPLE_MS;
  #slowInARow = 0;
  #isFast = false;
  #isTrying = false;
  #batchesOfTry = 0;
  #pause = FIRST_PAUSE;
  /** Single reads since the last trial. */
  #singles = 0;
  /** Mean milliseconds of recent single reads, each divided by the number in flight. */
  #singleMs = 0;
  /** Milliseconds of the fastest single read since the last trial. */
  #fastestMs = Infinity;
  /** The place of single reads since the last trial; undefined before the first. */
  #place: Place | undefined;
  /** Whether they came from more than one place, of which one may be fast and another slow. */
  #isMixed = false;

  /** Whether other reads must end, and none may begin, so that a batch is tried alone. */
  isAlone(queue: Batched): boolean {
    return queue.readsBatches && !this.#isFast && (this.#isTrying || this.#mayTry);
  }

  /** Returns how many producers are useful if `most` requests may be in flight. */
  usable(queue: Batched, most: number): number {
    return queue.readsBatches && this.#isFast ? producersOfBatches(most) : most;
  }

  /**
   * @param producers Producers that share the queue's memory.
   * @param most Requests that may be in flight.
   * @param free The part of `most` that is not in flight. A batch may count as many requests as it has
   * samples.
   */
  limits(queue: Batched, producers: number, most: number, free: number): BatchLimits {
    if (!queue.readsBatches || !(this.#isFast || this.#mayTry)) return { samples: 1, bytes: Infinity };
    const samples = Math.floor(Math.min(BATCH_MS / this.#sampleMs, samplesWithin(most), free));
    const atWork = Math.min(producers, producersOfBatches(most));
    return { samples: Math.max(1, samples), bytes: queue.memory.limit / (atWork * BATCHES_IN_MEMORY) };
  }

  /** Called when a producer begins to read `samples` at once. */
  began(samples: number): void {
    if (this.#isFast || !this.#mayTry) return;
    if (samples > 1) this.#isTrying = true;
    // There was no room for two samples, and may not be for long.
    else this.#waitLonger();
  }

  /**
   * @param underWay Producers at work when it began, this one included.
   * @param place The place that it was read from.
   */
  ended(samples: number, ms: number, underWay: number, place: Place): void {
    if (samples === 1) {
      this.#isMixed ||= this.#place !== undefined && this.#place !== place;
      this.#place = place;
      this.#singles += 1;
      this.#singleMs += NEWEST * (ms / underWay - this.#singleMs);
      this.#fastestMs = Math.min(this.#fastestMs, ms);
    } else if (this.#isFast) this.#observeBatch(ms / samples);
    else this.#judgeTry(ms / samples);
  }

  get #mayTry(): boolean {
    if (this.#isTrying || this.#singles < this.#pause) return false;
    return this.#isFromMemory || (this.#singleMs <= FAST_READ_MS && this.#fastestMs <= FASTEST_READ_MS);
  }

  get #isFromMemory(): boolean {
    return this.#fastestMs <= READ_OF_MEMORY_MS && !this.#isMixed;
  }

  #judgeTry(sampleMs: number): void {
    this.#isTrying = false;
    this.#isFast = sampleMs <= FAST_SAMPLE_MS;
    // Earlier slowness came from the machine, or from another epoch.
    if (this.#isFast) this.#pause = FIRST_PAUSE;
    this.#batchesOfTry += 1;
    const mayGoOn =
      (this.#isFromMemory || sampleMs <= SLOW_SAMPLE_MS) && this.#batchesOfTry < BATCHES_OF_A_TRY;
    if (this.#isFast || mayGoOn) return;
    this.#waitLonger();
  }

  #observeBatch(sampleMs: number): void {
    this.#sampleMs += NEWEST * (Math.min(sampleMs, SLOW_SAMPLE_MS) - this.#sampleMs);
    this.#slowInARow = sampleMs <= SLOW_SAMPLE_MS ? 0 : this.#slowInARow + 1;
    if (this.#slowInARow < SLOW_IN_A_ROW) return;
    this.#isFast = false;
    this.#slowInARow = 0;
    this.#sampleMs = EXPECTED_SAMPLE_MS;
    this.#waitLonger();
  }

  #waitLonger(): void {
    this.#singles = 0;
    this.#fastestMs = Infinity;
    this.#place = undefined;
    this.#isMixed = false;
    this.#batchesOfTry = 0;
    this.#pause = Math.min(LAST_PAUSE, this.#pause * LONGER);
  }
}

function producersOfBatches(most: number): number {
  return Math.floor(most / samplesWithin(most));
}

/** Returns the most samples of a batch if `most` requests may be in flight. */
function samplesWithin(most: number): number {
  return Math.max(1, Math.min(MOST_SAMPLES, Math.floor(most / BATCHES_UNDER_WAY)));
}
