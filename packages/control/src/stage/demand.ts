import type { Clock } from '@tiered/core';
import type { PaceCounts } from '../pacing/pace.js';
import { NO_BOUND, type Rate } from '../shares/rate.js';

/** Milliseconds of the past that figures are of. Shorter, and a loader that reads batches is a noise. */
const WINDOW_MS = 2000;
/** A stage asks for this much more than it uses, so that it can come to use more. */
const HEADROOM = 1.03;
/**
 * From this part of the time on in which requests wait for the share, it is the share that bounds a stage.
 */
const IS_BOUND = 0.5;
/** Consumers that wait for more of the time than this could take any amount, as far as can be known. */
const MOST_STARVED = 0.98;
/** What was best is forgotten by so much at each look, since a source may be another one an hour later. */
const FORGETS = 1.001;
/** Where no queue holds requests up, they take longer because the source or the machine does. */
const FORGETS_AT_EASE = 1.05;
/** Milliseconds after which all stages that have begun together have said what they use. */
const UNSEEN_MS = 1000;
/** Fewer, and a queue may still be there, or others may not have said yet what they use. */
const LOOKS_AT_EASE = 4;

/** What consumers did, since the beginning. */
export interface Consumed {
  readonly bytes: number;
  /** Milliseconds in which no consumer waited, summed over the buffers. */
  readonly computedMs: number;
  readonly starvedMs: number;
}

/** What a stage says of a source. */
export interface SourceDemand {
  readonly used: Rate;
  /** `Infinity` if it could use everything, as far as is known. */
  readonly wanted: Rate;
  readonly waits: number;
  /** Undefined if no request has ended. */
  readonly requestMs: number | undefined;
}

interface Moment {
  readonly at: number;
  readonly counts: PaceCounts;
  readonly consumed: Consumed | undefined;
}

/**
 * What a stage could use of a source.
 *
 * **Problem.** A stage that gets less than it could use does not show how much that is. It may wait for its
 * share; or for the source, where the many requests of others are before its few; or its consumers compute,
 * and it has all that it needs. Who asks for too little is starved by others who ask for more, and who asks
 * for too much keeps from others what nobody uses.
 *
 * **What it says.** In its first two seconds, everything, since nothing is known. Then:
 *
 * - If its requests wait for the share, what its consumers would take if they never waited for samples: what
 * they took, divided by the part of the time in which they had some.
 * - Else what it uses, and a little more. If requests take longer than they did at best, it is so many times
 * as much, because that is what its requests would bring if those of others were not before them; but no
 * more than its consumers would take. As long as the source was always full, nothing is known to be best, and
 * it asks for that.
 */
export class Demand {
  readonly #clock: Clock;
  readonly #moments: Moment[] = [];
  /** When the first request was made. */
  #begunAt: number | undefined;
  #bestMs = Infinity;
  /** Looks in a row at which the source had no queue. */
  #looksAtEase = 0;
  /** Whether there were enough of them, so that what was best is as good as it gets. */
  #isBestKnown = false;

  constructor(clock: Clock, counts: PaceCounts) {
    this.#clock = clock;
    this.#moments.push({ at: clock.now(), counts, consumed: undefined });
  }

  /**
   * Looks at what has happened in the last two seconds.
   * @param consumed Of all consumers. Undefined if nobody follows them.
   * @param isSaturated Whether all stages together use all that the source gives.
   */
  look(counts: PaceCounts, consumed: Consumed | undefined, isSaturated: boolean): SourceDemand {
    const now = { at: this.#clock.now(), counts, consumed };
    const last = this.#moments.at(-1) ?? now;
    this.#moments.push(now);
    if (counts.operations > 0 && this.#begunAt === undefined) {
      this.#begunAt = last.at;
      // Else what it uses would count less for two seconds, as it did nothing before.
      this.#moments.splice(0, this.#moments.length - 1);
    }
    while ((this.#moments[1]?.at ?? Infinity) <= now.at - WINDOW_MS) this.#moments.shift();
    const before = this.#moments[0] ?? now;
    const used = rateBetween(before, now);
    const waits = part(counts.waitedMs - last.counts.waitedMs, now.at - last.at);
    const requestMs = requestMsBetween(last, now);
    const age = this.#begunAt === undefined ? Infinity : now.at - this.#begunAt;
    const isNew = age < WINDOW_MS;
    const isAtEase = age > UNSEEN_MS && !isSaturated && requestMs !== undefined;
    this.#looksAtEase = isAtEase ? this.#looksAtEase + 1 : 0;
    if (this.#looksAtEase >= LOOKS_AT_EASE) this.#isBestKnown = true;
    const forgets = this.#looksAtEase >= LOOKS_AT_EASE ? FORGETS_AT_EASE : FORGETS;
    this.#bestMs = Math.min(this.#bestMs * forgets, requestMs ?? Infinity);
    const longer = requestMs === undefined ? 1 : this.#isBestKnown ? requestMs / this.#bestMs : Infinity;
    const faster = fasterBetween(before, now);
    const isBound = waits > IS_BOUND;
    // What waits and uses nothing says nothing by that.
    const isUnknown = isNew || (isBound && used.bytes === 0);
    const times = isUnknown ? Infinity : isBound ? faster : Math.min(longer, faster);
    return { used, waits, wanted: multiple(used, Math.max(HEADROOM, times)), requestMs };
  }
}

function rateBetween(before: Moment, now: Moment): Rate {
  const seconds = (now.at - before.at) / 1000;
  const rate = (count: number) => (seconds > 0 ? Math.max(0, count / seconds) : 0);
  return {
    bytes: rate(now.counts.bytes - before.counts.bytes),
    operations: rate(now.counts.operations - before.counts.operations),
  };
}

function requestMsBetween({ counts: before }: Moment, { counts: now }: Moment): number | undefined {
  const ended = now.ended - before.ended;
  return ended === 0 ? undefined : (now.requestMs - before.requestMs) / ended;
}

/** How many times as much consumers would take if they never waited. `Infinity` if that is not known. */
function fasterBetween({ consumed: before }: Moment, { consumed: now }: Moment): number {
  if (before === undefined || now === undefined || now.bytes === before.bytes) return Infinity;
  const starvedMs = now.starvedMs - before.starvedMs;
  const starved = part(starvedMs, starvedMs + now.computedMs - before.computedMs);
  return starved > MOST_STARVED ? Infinity : 1 / (1 - starved);
}

function multiple({ bytes, operations }: Rate, times: number): Rate {
  if (times === Infinity) return NO_BOUND;
  return { bytes: bytes * times, operations: operations * times };
}

function part(some: number, whole: number): number {
  return whole > 0 ? Math.min(1, Math.max(0, some / whole)) : 0;
}
