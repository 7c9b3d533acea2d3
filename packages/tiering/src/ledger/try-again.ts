import type { Clock } from '@tiered/core';

/**
 * Milliseconds before something that failed is tried again the first time. The pause doubles up to the last
 * one, as for tiers that failed.
 */
const FIRST_PAUSE_MS = 1_000;
const LAST_PAUSE_MS = 60_000;

/**
 * Calls back after a pause, unless closing comes first. Nobody waits for the pause, and it does not keep the
 * process alive.
 * @param failures How often it has failed in a row. More failures make a longer pause.
 */
export function tryAgainLater(
  clock: Clock,
  closing: AbortSignal,
  failures: number,
  attempt: () => void,
): void {
  const pauseMs = Math.min(LAST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1));
  clock.sleep(pauseMs, closing, { background: true }).then(attempt, () => undefined);
}
