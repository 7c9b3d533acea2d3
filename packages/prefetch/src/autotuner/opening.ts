import { percent } from './curve.js';
import type { Totals } from './totals.js';

/** Longer reads wait for something: a network or a disk. Shorter ones keep a processor busy. */
const WAITS_MS = 1;

/** If consumers wait for this part of the time, it is the reads that they wait for. */
const STARVING = 0.7;

/**
 * The factor by which the result is raised. So short a measurement is uncertain, and too few producers cost
 * throughput.
 */
const MARGIN = 2;

/** If this part of the producers is useful, none is removed. */
const MOST_OF_THEM = 0.75;

/**
 * How long ended reads are counted: this many times as long as a read took, and at least this many
 * milliseconds, because nothing ends while the process is stalled.
 */
const COUNTED_ROUNDS = 2;
const COUNTED_MS = 20;

/** Milliseconds between two looks. A read of a fast source takes less. */
export const LOOK_MS = 1;

/** The next move. */
interface Move {
  /** The producers from now on. */
  readonly producers: number;
  /** Part of a sentence, for the decision's reason. */
  readonly reason: string;
  /** Milliseconds until the next look. Undefined when the opening is over. */
  readonly nextInMs: number | undefined;
  /** Totals of fewer producers, if they say something about the current number. */
  readonly known?: { readonly producers: number; readonly totals: Totals };
}

/**
 * The first tenths of a second. A search that doubles takes as long as a short run, and each of its steps
 * would cost most of the throughput of a source that reads wait for.
 *
 * So if the first reads turn out to wait, all allowed producers read for a while. Nothing counts until the
 * time of one read has passed and their own reads begin to end. By Little's law, the number of reads that end
 * in the time of one read can be in flight without a queue. That many producers stay, and some more. If a
 * link is full, or the source slows down with more reads, hardly more reads end than before.
 */
export class Opening {
  /** Undefined until all producers were set to work. */
  #first: First | undefined;
  /** Totals from before ended reads began to count. */
  #before: Totals | undefined;

  /**
   * @param window Totals since the last move.
   * @param most The most producers.
   */
  see(window: Totals, producers: number, most: number): Move {
    return this.#first === undefined
      ? this.#leap(window, producers, most)
      : this.#land(window, producers, this.#first);
  }

  #leap(window: Totals, producers: number, most: number): Move {
    const { samples, taken, elapsedMs, busyMs, starvedShare } = window;
    // At first every consumer waits. Only its waits after it was given something show whether it waits for
    // the source.
    const isTaken = 2 * taken >= producers || samples >= 2 * producers;
    if (samples < producers || !isTaken)
      return {
        producers,
        reason: `of the first ${producers} reads ${samples} have ended`,
        nextInMs: LOOK_MS,
      };
    // The fast reads end first, so the time of reads that are still in flight is included.
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
    // Producers without room do not show how many are useful for the source.
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
