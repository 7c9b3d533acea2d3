import { TieredError, type Clock } from '@tiered/core';
import { onAbort, raceAbort } from '@tiered/core/internal';

/** How long something may take, and a signal that ends it earlier. */
export interface Patience {
  readonly clock: Clock;
  /** Milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** A signal that aborts with the caller's, or with `TIERED_DEADLINE` when the time is over. */
export function endingSignal({
  clock,
  timeoutMs,
  signal,
}: Patience): Disposable & { readonly signal: AbortSignal } {
  const ending = new AbortController();
  const stopListening = onAbort(signal, (reason) => ending.abort(reason));
  const timer = new AbortController();
  clock.sleep(timeoutMs, timer.signal).then(
    () => ending.abort(new TieredError('TIERED_DEADLINE', `it did not answer within ${timeoutMs / 1000} s`)),
    () => undefined,
  );
  const dispose = () => {
    timer.abort();
    stopListening();
  };
  return { signal: ending.signal, [Symbol.dispose]: dispose };
}

/**
 * Does work within a time. Its signal aborts as `endingSignal`, and then nobody waits for it any more.
 * @throws TieredError `TIERED_DEADLINE` when the time is over; the caller's `signal.reason`.
 */
export async function within<T>(patience: Patience, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  using ending = endingSignal(patience);
  ending.signal.throwIfAborted();
  return await raceAbort(work(ending.signal), ending.signal);
}
