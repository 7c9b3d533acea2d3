import { systemClock } from '@tiered/core';

/**
 * The time of day in milliseconds since 1970: signatures are made of it, and an injected clock does not know it. It is
 * that of the start of the process plus what passed since; a machine that slept falls behind, and signing corrects that.
 */
export function wallTime(): number {
  return performance.timeOrigin + systemClock.now();
}
