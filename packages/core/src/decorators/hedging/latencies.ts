/** Reads beyond the percentile that are remembered. With fewer, chance moves the percentile by half. */
const BEYOND = 10;

/** Reads beyond the percentile that are required before it is used. */
const BEYOND_AT_LEAST = 2;

/** The smallest class, as a power of two: below 16 KiB latency hardly depends on size. */
const SMALLEST = 14;

/**
 * Decides after how long a read is late: a percentile of the latest reads of like size.
 *
 * Sizes are grouped into classes by powers of two, and each class has its own window of reads. Within a class
 * the largest reads determine the percentile, so that it is too late rather than too early. A line through
 * all sizes (latency plus bytes by bandwidth) would need fewer reads, but it describes the mean. Hedging
 * needs the tail, which need not grow as the mean does.
 *
 * A read that was aborted before its answer counts with its time so far, if it was already late. It is then
 * on the right side of the percentile, whatever its latency would have been. So hedging does not make reads
 * late that would not be late without it. Only first requests count, because second requests that won are the
 * fast ones.
 *
 * Costs a search and a shift of some hundred numbers per read, and memory for 20 / (1 - percentile) numbers
 * per class in use.
 */
export class Latencies {
  readonly #percentile: number;
  readonly #least: number;
  readonly #most: number;
  readonly #classes: (Window | undefined)[] = [];

  /** @param percentile From 0 to below 1. */
  constructor(percentile: number) {
    this.#percentile = percentile;
    const reads = (beyond: number) => Math.round(beyond / (1 - percentile));
    this.#least = reads(BEYOND_AT_LEAST);
    this.#most = reads(BEYOND);
  }

  /** Records that a read of so many bytes took so many milliseconds. */
  add(bytes: number, ms: number): void {
    const index = classOf(bytes);
    (this.#classes[index] ??= new Window(this.#most)).add(ms);
  }

  /**
   * Returns the milliseconds after which a read of so many bytes is late; undefined while too few reads are
   * known.
   */
  lateAfterMs(bytes: number): number | undefined {
    const window = this.#classes[classOf(bytes)];
    if (window === undefined || window.count < this.#least) return undefined;
    return window.at(this.#percentile);
  }
}

function classOf(bytes: number): number {
  return Math.max(SMALLEST, Math.ceil(Math.log2(bytes))) - SMALLEST;
}

/** The latest numbers of a series, in order of arrival and in order of size. */
class Window {
  count = 0;
  readonly #latest: Float64Array;
  readonly #sorted: Float64Array;
  #oldest = 0;

  constructor(size: number) {
    this.#latest = new Float64Array(size);
    this.#sorted = new Float64Array(size);
  }

  add(value: number): void {
    if (this.count === this.#latest.length) this.#remove(this.#latest[this.#oldest] ?? 0);
    this.#latest[this.#oldest] = value;
    this.#oldest = (this.#oldest + 1) % this.#latest.length;
    const place = this.#placeOf(value);
    this.#sorted.copyWithin(place + 1, place, this.count);
    this.#sorted[place] = value;
    this.count += 1;
  }

  /** Returns the least number that at least this share of the numbers does not exceed. */
  at(share: number): number {
    return this.#sorted[Math.max(0, Math.ceil(share * this.count) - 1)] ?? 0;
  }

  #remove(value: number): void {
    this.#sorted.copyWithin(this.#placeOf(value), this.#placeOf(value) + 1, this.count);
    this.count -= 1;
  }

  /** Returns the index of the first number that is not smaller. */
  #placeOf(value: number): number {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#sorted[middle] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
