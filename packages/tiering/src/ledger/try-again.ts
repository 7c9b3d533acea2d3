import type { Clock } from '@tiered/core';

/** Milliseconds before the first retry. The pause doubles up to the last one, as for failed tiers. */
const FIRST_PAUSE_MS = 1_000;
const LAST_PAUSE_MS = 60_000;

/**
 * Calls back after a pause, unless closing comes first. The pause blocks nothing, and does not keep the
 * process alive.
 * @param failures Failures in a row. More failures make a longer pause.
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
