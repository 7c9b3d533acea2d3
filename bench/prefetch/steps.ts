/** A value that holds from a time on, in milliseconds since the beginning. */
export interface Step {
  readonly atMs: number;
  readonly value: number;
}

/**
 * Which part of the time, from 0 to 1, a count was at most 0, 1, 2, and so on to the most that it was.
 * @param steps In the order of time; the first at 0.
 */
export function shareOfTime(steps: readonly Step[], endMs: number): readonly number[] {
  const ms: number[] = Array.from({ length: Math.max(0, ...steps.map(({ value }) => value)) + 1 }, () => 0);
  for (const { fromMs, toMs, value } of spansOf(steps, endMs)) ms[value] = (ms[value] ?? 0) + toMs - fromMs;
  let sum = 0;
  return ms.map((at) => (sum += at) / endMs);
}

/**
 * The mean of a value over time, in windows of equal length; the last one may be shorter.
 * @param steps In the order of time; the first at 0.
 */
export function meansOverTime(steps: readonly Step[], endMs: number, windowMs: number): readonly number[] {
  const sums: number[] = Array.from({ length: Math.ceil(endMs / windowMs) }, () => 0);
  for (const { fromMs, toMs, value } of spansOf(steps, endMs)) {
    // By the number of the window: a quotient of times may be rounded into the window before.
    for (let window = Math.floor(fromMs / windowMs); window * windowMs < toMs; window++) {
      const ms = Math.min(toMs, (window + 1) * windowMs) - Math.max(fromMs, window * windowMs);
      sums[window] = (sums[window] ?? 0) + value * Math.max(0, ms);
    }
  }
  return sums.map((sum, window) => sum / (Math.min(endMs, (window + 1) * windowMs) - window * windowMs));
}

/** From when to when each value held. */
function spansOf(steps: readonly Step[], endMs: number) {
  return steps.map(({ atMs, value }, i) => ({
    fromMs: Math.min(atMs, endMs),
    toMs: Math.min(steps[i + 1]?.atMs ?? endMs, endMs),
    value,
  }));
}
