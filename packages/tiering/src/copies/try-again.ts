import type { Clock } from '@tiered/core';

/** The first pause before something that failed is tried again, in milliseconds; doubles up to the last one, as those of tiers do that failed. */
const FIRST_PAUSE_MS = 1_000;
const LAST_PAUSE_MS = 60_000;

/**
 * Calls back after a pause, unless closing comes first. Nobody waits for the pause, and it keeps no process.
 * @param failures How often it has failed in a row: the more often, the longer is the pause.
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
