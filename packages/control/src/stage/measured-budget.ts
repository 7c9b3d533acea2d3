/** What all stages together did to a source, in the last two seconds. */
export interface Load {
  /** Bytes that the source gave in a second. */
  readonly bytes: number;
  /** Milliseconds of a request, on average. Undefined if there was none. */
  readonly requestMs: number | undefined;
  /** Whether requests of some stage wait for its share. */
  readonly isBound: boolean;
  /** Whether several jobs read from it. One alone is not bounded. */
  readonly areSeveral: boolean;
}

/** A source whose requests take so many times as long as at best is beyond its knee. */
const SLOW = 3;
/** What was best is forgotten by so much at each look, since a source may be another one an hour later. */
const FORGETS = 1.001;
/** How much less a source is asked for that is beyond its knee, and how much more one that is not. */
const BACK = 0.97;
const FORTH = 1.05;
/** The part of what a source gives for which it is asked at first. */
const AT_FIRST = 0.8;

/**
 * What a source gives at its knee, where more requests at a time only wait for each other.
 *
 * When several jobs come to read, they are first held back, because only a source without a queue shows how
 * long a request takes at best. Then, while requests take about as long and jobs want more, the source is
 * asked for a little more at each look; once they take much longer, for a little less than it gives. So the
 * source is also left to others that are not seen here: they make it slow, and it is asked for less.
 */
export class MeasuredBudget {
  #best = Infinity;
  #bytes: number | undefined;

  /** Bytes in a second. Undefined until several jobs have read from it. */
  get bytes(): number | undefined {
    return this.#bytes;
  }

  /** Takes another look at the load. */
  look({ bytes, requestMs, isBound, areSeveral }: Load): void {
    if (requestMs === undefined || bytes === 0) return;
    if (this.#bytes === undefined && areSeveral) this.#bytes = bytes * AT_FIRST;
    this.#best = Math.min(this.#best * FORGETS, requestMs);
    if (this.#bytes === undefined) return;
    if (requestMs > SLOW * this.#best) this.#bytes = Math.min(this.#bytes, bytes * BACK);
    else if (isBound) this.#bytes *= FORTH;
  }
}
