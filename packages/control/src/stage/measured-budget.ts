/** The load that all stages together put on a source, in the last two seconds. */
export interface Load {
  /** Bytes per second that the source served. */
  readonly bytes: number;
  /** Average milliseconds of a request. Undefined if there was none. */
  readonly requestMs: number | undefined;
  /** Average bytes of a request. */
  readonly requestBytes: number;
  /** Whether requests of some stage wait for its share. */
  readonly isBound: boolean;
  /** Whether several jobs read from it. A single job is not bounded. */
  readonly areSeveral: boolean;
}

/** A source is beyond its knee if its requests take this many times as long as at best. */
const SLOW = 3;
/** The decay of the best latency and the highest rate at each look, since a source may change later. */
const FORGETS = 1.001;
/** Factors by which the budget falls at each look beyond the knee, and grows below it. */
const BACK = 0.97;
const FORTH = 1.05;
/** The growth at each look as long as the source was never beyond its knee. */
const FORTH_AT_FIRST = 2;
/** The part of the served rate that is the budget at first. */
const AT_FIRST = 0.8;
/**
 * The part of the highest rate below which the budget is never cut, and below which slow requests say
 * nothing.
 */
const LEAST = 0.1;

/**
 * Measures the rate of a source at its knee, where more concurrent requests only wait for each other.
 *
 * When several jobs begin to read, they are first held back, because only a source without a queue shows how
 * long a request takes at best. Then, while requests take about as long and jobs want more, the budget grows
 * at each look. Once requests take much longer, the budget falls to a little less than the source serves. So
 * the source also has room for clients outside the control plane: they slow it down, and the budget falls.
 * Requests are compared with those of about the same size, since large ones take longer.
 */
export class MeasuredBudget {
  /** The best milliseconds of a request, by its size in powers of two. */
  readonly #best = new Map<number, number>();
  #most = 0;
  #bytes: number | undefined;
  #wasSlow = false;

  /** The budget in bytes per second. Undefined until several jobs have read from the source. */
  get bytes(): number | undefined {
    return this.#bytes;
  }

  /** Updates the budget from a load. */
  look({ bytes, requestMs, requestBytes, isBound, areSeveral }: Load): void {
    this.#most = Math.max(this.#most / FORGETS, bytes);
    if (this.#bytes === undefined && areSeveral && bytes > 0) this.#bytes = bytes * AT_FIRST;
    const isSlow = requestMs !== undefined && this.#isSlow(requestMs, requestBytes);
    if (this.#bytes === undefined) return;
    if (!isSlow) {
      if (isBound) this.#bytes *= this.#wasSlow ? FORTH : FORTH_AT_FIRST;
      return;
    }
    // A slow request at low load does not mean a queue.
    if (bytes < LEAST * this.#most) return;
    this.#wasSlow = true;
    this.#bytes = Math.max(LEAST * this.#most, Math.min(this.#bytes, bytes) * BACK);
  }

  #isSlow(requestMs: number, requestBytes: number): boolean {
    const size = Math.round(Math.log2(Math.max(1, requestBytes)));
    const best = Math.min((this.#best.get(size) ?? Infinity) * FORGETS, requestMs);
    this.#best.set(size, best);
    return requestMs > SLOW * best;
  }
}
