import type { Clock } from '@tiered/core';

/** Milliseconds for which the same line is not repeated. */
const QUIET_MS = 600_000;
/** Lines in that time: what comes and goes all the time is told of a few times. */
const MOST_LINES = 20;

/** Where lines go. */
export interface LogTargets {
  /** What makes reads slower. */
  readonly warn: (line: string) => void;
  /** What is only good to know, such as who came and went. Default: nobody is told. */
  readonly note?: ((line: string) => void) | undefined;
}

/** Tells a line, if it is to be told; `what` is the same for lines that say the same. */
type Tell = (what: string, line: string, to: LogTargets['note']) => void;

/**
 * Tells of what happens again and again: not the same for a while, and no more than a few lines in that time.
 * Lines begin with the same words.
 */
export function quietLog(beginning: string, clock: Clock): Tell {
  let told: { readonly what: string; readonly at: number }[] = [];
  return (what, line, to) => {
    if (to === undefined) return;
    const now = clock.now();
    told = told.filter(({ at }) => now - at < QUIET_MS);
    if (told.length >= MOST_LINES || told.some((one) => one.what === what)) return;
    told.push({ what, at: now });
    to(`${beginning}: ${line}.`);
  };
}

/** Where warnings go if nobody has said it. */
export function warnProcess(line: string): void {
  process.emitWarning(line, 'TieredWarning');
}
