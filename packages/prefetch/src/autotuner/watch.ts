import { formatBytes } from '@tiered/core';
import { LONG_STRIDE, percent, Point, SHORT_STRIDE, type Stride } from './curve.js';
import type { Totals } from './totals.js';

/** Windows in a row that must differ before they count as more than chance: at first, and at most. */
const LEAST_PATIENCE = 2;
const MOST_PATIENCE = 16;

/**
 * Windows until the result is checked, at least four seconds of a settled tuning. Each check doubles them.
 */
const FIRST_CHECK = 16;

/** The largest factors by which means of the same workload differ. */
const ALIKE = { objectBytes: 1.5, durationMs: 1.5, rate: 1.33 };

/** Consumers that did not starve before may starve for this part of the time. */
const STARVING = 0.05;

/** A reason to search anew. */
export interface Alarm {
  readonly reason: string;
  readonly stride: Stride;
  /** Whether the workload has changed to one of which nothing is known. */
  readonly shifted: boolean;
}

/** Compares the results of a settled tuning with those at the time it was found. */
export class Watch {
  #found = new Point(1);
  #suspicions = 0;
  #patience = LEAST_PATIENCE;
  #untilCheck = FIRST_CHECK;
  #windows = 0;
  #alarm: Alarm | undefined;

  /**
   * Notes that a search has ended here. A search that only checked, or found what was known, makes the next
   * of its kind rarer.
   */
  settle(found: Point): void {
    const before = this.#found.producers;
    const same = Math.abs(found.producers - before) <= Math.max(1, before >> 3);
    if (this.#alarm?.stride === SHORT_STRIDE) this.#untilCheck *= 2;
    else if (this.#alarm !== undefined && same) this.#patience = Math.min(2 * this.#patience, MOST_PATIENCE);
    else {
      this.#patience = LEAST_PATIENCE;
      this.#untilCheck = FIRST_CHECK;
    }
    this.#found = found;
    this.#suspicions = 0;
    this.#windows = 0;
  }

  /** Looks at a window of the settled tuning. Returns an alarm if a new search is due. */
  see(window: Totals): Alarm | undefined {
    const shift = this.#shift(window);
    const suspicion = shift ?? this.#turn(window);
    this.#suspicions = suspicion === undefined ? 0 : this.#suspicions + 1;
    if (suspicion !== undefined) {
      if (this.#suspicions < this.#patience) return undefined;
      this.#alarm = { reason: suspicion, stride: LONG_STRIDE, shifted: shift !== undefined };
      return this.#alarm;
    }
    this.#found.add(window);
    this.#windows++;
    if (this.#windows < this.#untilCheck || !window.starved) return undefined;
    const reason = `checking what was found ${this.#windows} windows ago`;
    this.#alarm = { reason, stride: SHORT_STRIDE, shifted: false };
    return this.#alarm;
  }

  /**
   * Says how the workload has changed. If no consumer starves, rates and durations are the consumer's, and
   * say nothing about it.
   */
  #shift(now: Totals): string | undefined {
    const { totals: then } = this.#found;
    if (!alike(now.objectBytes, then.objectBytes, ALIKE.objectBytes))
      return `objects are ${formatBytes(now.objectBytes)} instead of ${formatBytes(then.objectBytes)}`;
    if (!now.starved || !then.starved) return undefined;
    if (!alike(now.rate, then.rate, ALIKE.rate))
      return `throughput is ${percent(now.rate / then.rate)} of what it was`;
    if (!alike(now.durationMs, then.durationMs, ALIKE.durationMs))
      return `a read takes ${now.durationMs.toFixed(2)} ms instead of ${then.durationMs.toFixed(2)} ms`;
    return undefined;
  }

  /** Says how the need has changed: consumers now starve, or they keep fewer producers busy. */
  #turn(now: Totals): string | undefined {
    const { totals: then, producers } = this.#found;
    if (now.starved)
      return !then.starved && now.starvedShare > STARVING
        ? `consumers starve ${percent(now.starvedShare)} of the time instead of ${percent(then.starvedShare)}`
        : undefined;
    const spare = then.starved ? 0 : Math.max(1, producers >> 3);
    return producers - this.#pointOf(now).needed > spare
      ? `only ${now.busy.toFixed(1)} of ${producers} producers are busy, and nobody starves`
      : undefined;
  }

  #pointOf(window: Totals): Point {
    const point = new Point(this.#found.producers);
    point.add(window);
    return point;
  }
}

function alike(a: number, b: number, factor: number): boolean {
  return a <= b * factor && b <= a * factor;
}
