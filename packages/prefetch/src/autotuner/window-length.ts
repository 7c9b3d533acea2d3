import type { Totals } from './totals.js';

/** Part of the time from which consumers count as waiting always. */
const ALWAYS = 0.9;

/** Windows are no shorter: timers and bursts blur what is. */
export const WINDOW_MS = 20;

/**
 * Nobody waits for what is found while nobody starves, and consumers that take in large steps need long
 * windows.
 */
export const UNHURRIED_MS = 1500;

/** Reads of a window of a search at least. */
const SEARCH_READS = 6;

/** A window of a settled tuning. */
const SETTLED_MS = 250;
const SETTLED_READS = 64;

/** Rounds of reads that a window of a search, and of a settled tuning, is to hold. */
const SEARCH_ROUNDS = 3;
const SETTLED_ROUNDS = 8;

/** What a window is for. */
export interface Purpose {
  /** Milliseconds that the window after a change lasts at least; undefined in windows that count. */
  readonly warmUpMs: number | undefined;
  readonly settled: boolean;
  readonly producers: number;
}

/** Whether a window is long enough. */
export function isLongEnough(window: Totals, purpose: Purpose): boolean {
  const { samples, taken, elapsedMs, starved } = window;
  if (purpose.warmUpMs !== undefined) return samples > 0 && elapsedMs >= purpose.warmUpMs;
  const isOver = samples >= readsWanted(purpose) && elapsedMs >= windowMs(window, purpose);
  return isOver && (starved || taken > 0);
}

/** How long the window will take to be long enough, by what it shows so far. */
export function missingMs(window: Totals, purpose: Purpose): number {
  const { samples, elapsedMs } = window;
  const { warmUpMs } = purpose;
  const atLeast = warmUpMs ?? windowMs(window, purpose);
  if (samples === 0) return Math.max(WINDOW_MS, Math.min(atLeast, UNHURRIED_MS), elapsedMs);
  if (warmUpMs !== undefined) return Math.max(WINDOW_MS / 4, atLeast - elapsedMs);
  const reads = (readsWanted(purpose) - samples) * (elapsedMs / samples);
  // Not at one go: what looks as if nobody were in a hurry can be the beginning.
  return Math.max(WINDOW_MS / 4, Math.min(atLeast - elapsedMs, elapsedMs), reads);
}

/**
 * Producers that never stood still, and consumers that always wait, show the rate of the source at any time.
 * Else it depends on where consumers are in their round of work, of which a window is to hold several.
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
