/**
 * Throughput over the number of producers, as far as it was measured, and the search for its knee: the fewest
 * producers that give nearly the best throughput.
 *
 * As long as reads do not hinder each other, throughput grows in proportion to producers. Then a link, a
 * disk, the CPU or the consumer is the limit, and the curve is flat or falls. So the search doubles while
 * doubling pays, and then closes in from both sides. Its first guess in between is by Little's law: the
 * throughput of the limit times the time that a read takes without it. The search needs no other model of the
 * source, and it settles only on what was measured.
 */
import { between } from './limits.js';
import { Totals } from './totals.js';

/**
 * This part of the best throughput is enough. The rest is not worth more producers, and cannot be told from
 * noise.
 */
const ENOUGH = 0.97;

/** Below this part of the best throughput, one window is enough to say that it is less. */
const DOUBTFUL = 0.85;

/** Doubling pays if it brings at least this part of what it would bring without any limit. */
const WORTHWHILE = 0.2;

/** A throughput with no larger standard error is precise enough to tell 0.97 from 1. */
const PRECISE = 0.01;

const WINDOWS_TO_TRUST = 4;
const WINDOWS_AT_MOST = 48;
const MEASURE_AT_MOST_MS = 3000;
const WINDOWS_OF_SATISFIED = 2;

/** By what factor producers exceed what consumers need, because the need varies a little. */
const SPARE = 1.1;

/** The throughput of one number of producers, over some windows. */
export class Point {
  readonly producers: number;
  totals = new Totals();
  windows = 0;
  #rates = 0;
  #squares = 0;

  constructor(producers: number) {
    this.producers = producers;
  }

  add(window: Totals): void {
    this.totals = this.totals.plus(window);
    this.windows++;
    this.#rates += window.rate;
    this.#squares += window.rate ** 2;
  }

  get rate(): number {
    return this.totals.rate;
  }

  /**
   * Whether more windows would add little. If no consumer starves, two are enough: the windows are long, and
   * there is no hurry.
   */
  get complete(): boolean {
    if (!this.totals.starved) return this.windows >= WINDOWS_OF_SATISFIED;
    if (this.windows < WINDOWS_TO_TRUST) return false;
    return this.windows >= WINDOWS_AT_MOST || this.totals.elapsedMs >= MEASURE_AT_MOST_MS || this.precise;
  }

  /**
   * The rate. Its standard error is subtracted as long as more windows could add precision. So in doubt there
   * are more producers, since too few would cost throughput.
   */
  get surely(): number {
    return this.rate * (this.complete ? 1 : 1 - this.standardError);
  }

  /** Whether the rate is known precisely. */
  get precise(): boolean {
    return this.standardError <= PRECISE;
  }

  /**
   * The producers that would be enough, as far as this point can tell. If consumers do not starve, these are
   * the producers that read the samples they took.
   */
  get needed(): number {
    const { starved, busy, takenShare } = this.totals;
    return starved ? this.producers : between(1, Math.ceil(SPARE * busy * takenShare), this.producers);
  }

  /** The standard error of the rate, relative to the rate. */
  get standardError(): number {
    const mean = this.#rates / this.windows;
    const variance = Math.max(0, this.#squares / this.windows - mean * mean);
    return mean > 0 ? Math.sqrt(variance / this.windows) / mean : 0;
  }
}

/** Where to measure next, or where the search ended. */
export interface Step {
  readonly producers: number;
  readonly settled: boolean;
  /** Part of a sentence, for the decision's reason. */
  readonly reason: string;
}

/** How far the search steps: the factors by which it changes the number of producers. */
export interface Stride {
  readonly up: number;
  readonly down: number;
  /** The part of the possible gain from which on no further window is needed. */
  readonly obvious: number;
}

/** For a search that knows nothing. */
export const LONG_STRIDE: Stride = { up: 2, down: 0.5, obvious: 0.5 };

/** For a search that only checks. */
export const SHORT_STRIDE: Stride = { up: 1.25, down: 0.875, obvious: Infinity };

/** The points that were measured under one workload. */
export class Curve {
  #points: Point[] = [];

  /** Returns the point of this number of producers. Makes it if needed. */
  at(producers: number): Point {
    const known = this.#points.find((point) => point.producers === producers);
    if (known !== undefined) return known;
    const point = new Point(producers);
    this.#points = [...this.#points, point].sort((a, b) => a.producers - b.producers);
    return point;
  }

  drop(producers: number): void {
    this.#points = this.#points.filter((point) => point.producers !== producers);
  }

  /**
   * Says what to do after a window at `current`.
   * @param current A number of producers with at least one window.
   * @param most The most producers that may be tried.
   */
  next(current: number, most: number, stride: Stride): Step {
    const point = this.at(current);
    const top = this.#points.at(-1) ?? point;
    if (point === top && this.#mayClimb(top, stride)) return this.#climb(top, most, stride);
    if (!point.complete && !this.#clearlyLess(point)) return measure(point);
    return this.#gain(top) >= WORTHWHILE ? this.#climb(top, most, stride) : this.#closeIn(stride);
  }

  /** Whether this point is less than enough, whatever its noise. It then needs no further measurement. */
  #clearlyLess(point: Point): boolean {
    return (
      point.windows >= WINDOWS_TO_TRUST && point.rate * (1 + 3 * point.standardError) < ENOUGH * this.#best
    );
  }

  get #best(): number {
    return Math.max(...this.#points.map(({ rate }) => rate));
  }

  /** Whether the search may climb before the topmost point is measured to the end. */
  #mayClimb(top: Point, stride: Stride): boolean {
    if (this.#gain(top) >= stride.obvious) return true;
    // A lucky window below hides a gain. Further up the gain shows, and looking there costs no throughput.
    const below = this.#reference(top);
    const lucky = below !== undefined && below.windows < WINDOWS_TO_TRUST;
    return lucky && top.totals.starved && top.windows >= WINDOWS_TO_TRUST && !top.precise;
  }

  #climb(from: Point, most: number, stride: Stride): Step {
    const producers = between(1, Math.max(from.producers + 1, Math.ceil(from.producers * stride.up)), most);
    if (producers <= from.producers) return this.#closeIn(stride);
    const below = this.#reference(from);
    const gain =
      below === undefined
        ? `consumers starve ${percent(from.totals.starvedShare)} of the time`
        : `throughput grew ${percent(from.rate / below.rate - 1)} from ${below.producers} to ${from.producers} producers`;
    return { producers, settled: false, reason: `${gain}, trying ${producers}` };
  }

  /** The gain over the next point clearly below, as a part of the gain without any limit. */
  #gain(point: Point): number {
    if (!point.totals.starved) return 0;
    const below = this.#reference(point);
    if (below === undefined) return 1;
    return (point.rate / below.rate - 1) / (point.producers / below.producers - 1);
  }

  /** The point below to compare with. Neighbours that are too close would give gains within the noise. */
  #reference(point: Point): Point | undefined {
    const below = this.#points.filter((other) => other.producers < point.producers);
    return below.findLast((other) => 1.25 * other.producers <= point.producers) ?? below.at(-1);
  }

  /**
   * Steps towards the fewest producers that are enough. They lie above all points that are not enough, and at
   * or below the first point that is.
   */
  #closeIn(stride: Stride): Step {
    const best = this.#best;
    const index = this.#points.findIndex((point) => point.rate === best || point.surely >= ENOUGH * best);
    const good = this.#points[index];
    if (good === undefined) return { producers: 1, settled: false, reason: 'nothing is known yet' };
    const low = this.#points[index - 1];
    if (!good.complete) return measure(good);
    const above = this.#points[index + 1];
    if (above !== undefined && isGap(good, above)) return this.#tryBetween(good, above);
    if (low !== undefined && low.rate > DOUBTFUL * best && !low.complete && !this.#clearlyLess(low))
      return measure(low);
    if (low === undefined) return this.#descend(good, stride);
    const { producers } = good;
    const figures = `${producers} producers reach ${percent(good.rate / best)} of the best throughput, ${low.producers} only ${percent(low.rate / best)}`;
    if (producers - low.producers <= Math.max(1, producers >> 4))
      return { producers, settled: true, reason: figures };
    const half = Math.ceil((low.producers + producers) / 2);
    const little = low.rate > 0 ? Math.ceil((best * low.producers) / low.rate) : half;
    const guess = producers >= 2 * low.producers ? little : half;
    const tried = between(low.producers + 1, guess, producers - 1);
    return { producers: tried, settled: false, reason: `${figures}, trying ${tried}` };
  }

  #tryBetween(good: Point, above: Point): Step {
    const tried = Math.round(Math.sqrt(good.producers * above.producers));
    const reason = `${above.producers} producers reach only ${percent(above.rate / good.rate)} of what ${good.producers} do, trying ${tried}`;
    return { producers: tried, settled: false, reason };
  }

  #descend(good: Point, stride: Stride): Step {
    const { producers, totals } = good;
    const fewer = totals.starved
      ? Math.min(producers - 1, Math.floor(producers * stride.down))
      : Math.min(producers, good.needed);
    const figures = totals.starved
      ? `${producers} producers reach as much as any number above`
      : `consumers starve ${percent(totals.starvedShare)} of the time and ${totals.busy.toFixed(1)} of ${producers} producers are busy`;
    if (fewer < 1 || fewer === producers) return { producers, settled: true, reason: figures };
    return { producers: fewer, settled: false, reason: `${figures}, trying ${fewer}` };
  }
}

/**
 * Whether the best may lie between the two. This can happen if a source slows down with more reads, and the
 * search has skipped the numbers at which it does.
 */
function isGap(good: Point, above: Point): boolean {
  return above.producers > 2 * good.producers && above.rate < DOUBTFUL * good.rate;
}

function measure({ producers }: Point): Step {
  return { producers, settled: false, reason: `measuring ${producers} producers` };
}

/** Formats a share for people. */
export function percent(part: number): string {
  return `${(100 * part).toFixed(0)} %`;
}
