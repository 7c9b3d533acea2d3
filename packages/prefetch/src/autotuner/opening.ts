import { percent } from './curve.js';
import type { Totals } from './totals.js';

/**
 * Reads that take longer wait for something, a network or a disk; those that take less keep a processor busy.
 */
const WAITS_MS = 1;

/** Part of the time that consumers wait, from which it is the reads that they wait for. */
const STARVING = 0.7;

/**
 * What was measured in so short a time is uncertain, and too few producers cost throughput: so many times as
 * many.
 */
const MARGIN = 2;

/** Part of the producers that has use, from which there is no need to take some of them away. */
const MOST_OF_THEM = 0.75;

/**
 * What ends is counted for as many times as a read took, and milliseconds at least: nothing ends while the
 * process stands still.
 */
const COUNTED_ROUNDS = 2;
const COUNTED_MS = 20;

/** Milliseconds between two looks: a read of a fast source takes less. */
export const LOOK_MS = 1;

/** What is to be done next. */
interface Move {
  /** How many producers there are to be from now on. */
  readonly producers: number;
  /** Part of a sentence. */
  readonly reason: string;
  /** Milliseconds until the next look; undefined where the opening is over. */
  readonly nextInMs: number | undefined;
  /** What is known of fewer producers, where that says something about those that there are now. */
  readonly known?: { readonly producers: number; readonly totals: Totals };
}

/**
 * The first tenths of a second. A search that doubles takes as long as a short run, and each of its steps
 * would cost most of the throughput of a source that waits. So when the first reads have shown that they
 * wait, all producers that are allowed read for a while: the time of a read passes until what they began
 * ends, then it counts. As many reads as end in the time that one takes are under way without a queue
 * (Little's law); so many producers are left, and some more. Of a link that is full, or of a source that
 * becomes slower with more reads, hardly more end than before.
 */
export class Opening {
  /** Undefined until the leap. */
  #first: First | undefined;
  /** What was over when what ended began to count. */
  #before: Totals | undefined;

  /**
   * @param window What was seen since the last move.
   * @param most Producers at most.
   */
  see(window: Totals, producers: number, most: number): Move {
    return this.#first === undefined
      ? this.#leap(window, producers, most)
      : this.#land(window, producers, this.#first);
  }

  #leap(window: Totals, producers: number, most: number): Move {
    const { samples, taken, elapsedMs, busyMs, starvedShare } = window;
    // Every consumer waits at first; what it does with what it gets shows whether it is the source that it
    // waits for.
    const isTaken = 2 * taken >= producers || samples >= 2 * producers;
    if (samples < producers || !isTaken)
      return {
        producers,
        reason: `of the first ${producers} reads ${samples} have ended`,
        nextInMs: LOOK_MS,
      };
    // Those that have ended first were the fast ones: so the time of those that have not counts too.
    const ms = busyMs / samples;
    const figures = `a read took ${ms.toFixed(2)} ms at first`;
    if (ms < WAITS_MS || starvedShare < STARVING || most <= producers)
      return { producers, reason: figures, nextInMs: undefined };
    this.#first = { producers, ms, totals: window };
    return {
      producers: most,
      reason: `${figures}, and consumers starved ${percent(starvedShare)} of ${elapsedMs.toFixed(0)} ms, trying ${most}`,
      nextInMs: ms,
    };
  }

  #land(window: Totals, producers: number, first: First): Move {
    const { ms } = first;
    if (this.#before === undefined && window.elapsedMs >= ms) this.#before = window;
    const before = this.#before;
    const missingMs =
      before === undefined
        ? ms - window.elapsedMs
        : Math.max(COUNTED_ROUNDS * ms, COUNTED_MS) - (window.elapsedMs - before.elapsedMs);
    const samples = window.samples - (before?.samples ?? 0);
    if (before === undefined || missingMs > 0)
      return {
        producers,
        reason: `measuring ${producers} producers`,
        nextInMs: Math.max(LOOK_MS, missingMs),
      };
    const ended = (samples * ms) / (window.elapsedMs - before.elapsedMs);
    const useful = Math.max(first.producers, Math.ceil(MARGIN * ended));
    // Producers that had no room do not say how many the source has use for.
    const isTooMany = useful < MOST_OF_THEM * producers && !window.full;
    const landed = isTooMany ? useful : producers;
    return {
      producers: landed,
      reason: `${ended.toFixed(1)} reads of ${producers} producers end in the time of one, going on with ${landed}`,
      nextInMs: undefined,
      ...(landed > first.producers && window.starvedShare >= STARVING && { known: first }),
    };
  }
}

/** How the first producers read. */
interface First {
  readonly producers: number;
  /** Milliseconds of a read. */
  readonly ms: number;
  readonly totals: Totals;
}
