import type { Totals } from './totals.js';

/** Consumers that wait for more than this part of the time count as always waiting. */
const ALWAYS = 0.9;

/** The shortest window. In a shorter one timers and bursts would blur the figures. */
export const WINDOW_MS = 20;

/**
 * The length of a window in which no consumer starves: there is no hurry, and consumers that take in large
 * steps need long windows.
 */
export const UNHURRIED_MS = 1500;

/** The fewest reads in a window of a search. */
const SEARCH_READS = 6;

/** The length of a window of a settled tuning, and its fewest reads. */
const SETTLED_MS = 250;
const SETTLED_READS = 64;

/** Rounds of reads in a window of a search, and of a settled tuning. */
const SEARCH_ROUNDS = 3;
const SETTLED_ROUNDS = 8;

/** The purpose of a window. */
export interface Purpose {
  /** Milliseconds that the window after a change has to last. Undefined in windows that count. */
  readonly warmUpMs: number | undefined;
  readonly settled: boolean;
  readonly producers: number;
}

/** Whether a window is long enough for its purpose. */
export function isLongEnough(window: Totals, purpose: Purpose): boolean {
  const { samples, taken, elapsedMs, starved } = window;
  if (purpose.warmUpMs !== undefined) return samples > 0 && elapsedMs >= purpose.warmUpMs;
  const isOver = samples >= readsWanted(purpose) && elapsedMs >= windowMs(window, purpose);
  return isOver && (starved || taken > 0);
}

/** Estimates how many milliseconds the window lacks, by what it shows so far. */
export function missingMs(window: Totals, purpose: Purpose): number {
  const { samples, elapsedMs } = window;
  const { warmUpMs } = purpose;
  const atLeast = warmUpMs ?? windowMs(window, purpose);
  if (samples === 0) return Math.max(WINDOW_MS, Math.min(atLeast, UNHURRIED_MS), elapsedMs);
  if (warmUpMs !== undefined) return Math.max(WINDOW_MS / 4, atLeast - elapsedMs);
  const reads = (readsWanted(purpose) - samples) * (elapsedMs / samples);
  // Do not wait for all of it at once: the beginning of a window may look as if no consumer starved.
  return Math.max(WINDOW_MS / 4, Math.min(atLeast - elapsedMs, elapsedMs), reads);
}

/**
 * If producers are never idle, or consumers always wait, any short time shows the rate of the source.
 * Otherwise the rate depends on where consumers are in their round of work, and a window has to hold several
 * rounds.
 */
function windowMs({ starved, full, starvedShare, elapsedMs }: Totals, { settled }: Purpose): number {
  if (elapsedMs > 0 && !(starved && (!full || starvedShare > ALWAYS))) return UNHURRIED_MS;
  return settled ? SETTLED_MS : WINDOW_MS;
}

function readsWanted({ settled, producers }: Purpose): number {
  return settled
    ? Math.max(SETTLED_READS, SETTLED_ROUNDS * producers)
    : Math.max(SEARCH_READS, SEARCH_ROUNDS * producers);
}
