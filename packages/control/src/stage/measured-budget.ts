/** What all stages together did to a source, in the last two seconds. */
export interface Load {
  /** Bytes that the source gave in a second. */
  readonly bytes: number;
  /** Milliseconds of a request, on average. Undefined if there was none. */
  readonly requestMs: number | undefined;
  /** Bytes of a request, on average. */
  readonly requestBytes: number;
  /** Whether requests of some stage wait for its share. */
  readonly isBound: boolean;
  /** Whether several jobs read from it. One alone is not bounded. */
  readonly areSeveral: boolean;
}

/** A source whose requests take so many times as long as at best is beyond its knee. */
const SLOW = 3;
/**
 * What was best, and what was most, is forgotten by so much at each look: a source may be another one later.
 */
const FORGETS = 1.001;
/** How much less a source is asked for that is beyond its knee, and how much more one that is not. */
const BACK = 0.97;
const FORTH = 1.05;
/** How much more at each look, as long as it was never beyond its knee. */
const FORTH_AT_FIRST = 2;
/** The part of what a source gives for which it is asked at first. */
const AT_FIRST = 0.8;
/**
 * The part of the most that it ever gave to which it is not cut, and below which slow requests say nothing.
 */
const LEAST = 0.1;

/**
 * What a source gives at its knee, where more requests at a time only wait for each other.
 *
 * When several jobs come to read, they are first held back, because only a source without a queue shows how
 * long a request takes at best. Then, while requests take about as long and jobs want more, the source is
 * asked for more at each look; once they take much longer, for a little less than it gives. So the source is
 * also left to others that are not seen here: they make it slow, and it is asked for less. Requests are
 * compared with those of about the same size, since large ones take longer.
 */
export class MeasuredBudget {
  /** Milliseconds of a request at best, by its size: powers of two. */
  readonly #best = new Map<number, number>();
  #most = 0;
  #bytes: number | undefined;
  #wasSlow = false;

  /** Bytes in a second. Undefined until several jobs have read from it. */
  get bytes(): number | undefined {
    return this.#bytes;
  }

  /** Takes another look at the load. */
  look({ bytes, requestMs, requestBytes, isBound, areSeveral }: Load): void {
    this.#most = Math.max(this.#most / FORGETS, bytes);
    if (this.#bytes === undefined && areSeveral && bytes > 0) this.#bytes = bytes * AT_FIRST;
    const isSlow = requestMs !== undefined && this.#isSlow(requestMs, requestBytes);
    if (this.#bytes === undefined) return;
    if (!isSlow) {
      if (isBound) this.#bytes *= this.#wasSlow ? FORTH : FORTH_AT_FIRST;
      return;
    }
    // A slow request in a pause is no queue.
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
