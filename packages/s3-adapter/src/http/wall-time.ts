import { systemClock } from '@tiered/core';

/**
 * The time of day in milliseconds since 1970. Signatures need it, and an injected clock does not know it. It
 * is the time at which the process started plus what passed since. On a machine that slept it falls behind,
 * and signing corrects that.
 */
export function wallTime(): number {
  return performance.timeOrigin + systemClock.now();
}
