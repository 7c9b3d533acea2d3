import { TieredError, type Clock } from '@tiered/core';
import { onAbort, raceAbort } from '@tiered/core/internal';

/** How long something may take, and who ends it earlier. */
export interface Patience {
  readonly clock: Clock;
  /** Milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Does work within a time. Its signal aborts when the time is over or the caller's signal aborts, and then
 * nobody waits for it any more.
 * @throws TieredError `TIERED_DEADLINE` when the time is over; the caller's `signal.reason`.
 */
export async function within<T>(
  { clock, timeoutMs, signal }: Patience,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  const stopListening = onAbort(signal, (reason) => ending.abort(reason));
  const timer = new AbortController();
  clock.sleep(timeoutMs, timer.signal).then(
    () => ending.abort(new TieredError('TIERED_DEADLINE', `it did not answer within ${timeoutMs / 1000} s`)),
    () => undefined,
  );
  try {
    ending.signal.throwIfAborted();
    return await raceAbort(work(ending.signal), ending.signal);
  } finally {
    timer.abort();
    stopListening();
  }
}
