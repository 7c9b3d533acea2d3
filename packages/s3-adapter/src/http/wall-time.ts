import { systemClock } from '@tiered/core';

/**
 * The time of day in milliseconds since 1970. Signatures need it, and an injected clock does not know it. It
 * is the start time of the process plus the time elapsed since. It falls behind on a machine that slept, and
 * signing corrects that.
 */
export function wallTime(): number {
  return performance.timeOrigin + systemClock.now();
}
