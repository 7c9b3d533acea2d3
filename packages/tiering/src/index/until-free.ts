import { isTieredError, type Clock, type Tier } from '@tiered/core';
import { onAbort, raceAbort } from '@tiered/core/internal';
import { heldError } from '../tier/errors.js';

/** Milliseconds for which a start waits for an index that another process holds. */
const PATIENCE_MS = 2000;
/**
 * Milliseconds for which a start waits for an answer. Longer, because the first answer of an index takes
 * seconds on a busy machine: its thread has to start.
 */
const ANSWER_MS = 10_000;
const PAUSE_MS = 10;

/** Ends the timer of a wait. */
const ENDED = new Error('the index has answered');

/** Makes a call of an index, with the patience of a start. */
export type Patiently = <T>(call: () => Promise<T>) => Promise<T>;

/**
 * Repeats a call while another process blocks it. An abort ends the wait at once; the call continues until
 * its client ends.
 * @throws The error of the last call, or TieredError `TIERED_UNAVAILABLE` if there was no answer in time.
 */
export async function untilFree<T>(
  call: () => Promise<T>,
  tier: Tier,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<T> {
  const until = clock.now() + PATIENCE_MS;
  const [patience, answered] = [new AbortController(), new AbortController()];
  const stopListening = onAbort(signal, (reason) => patience.abort(reason));
  clock.sleep(ANSWER_MS, answered.signal, { background: true }).then(
    () => patience.abort(heldError(tier)),
    () => undefined,
  );
  try {
    for (;;) {
      const outcome = await raceAbort(attempt(call), patience.signal);
      if ('result' in outcome) return outcome.result;
      if (clock.now() >= until) throw outcome.error;
      await clock.sleep(PAUSE_MS, patience.signal);
    }
  } finally {
    stopListening();
    answered.abort(ENDED);
  }
}

/** @throws Errors that are not worth a retry. */
async function attempt<T>(
  call: () => Promise<T>,
): Promise<{ readonly result: T } | { readonly error: Error }> {
  try {
    return { result: await call() };
  } catch (error) {
    if (!isTieredError(error, 'TIERED_UNAVAILABLE') || !error.retryable) throw error;
    return { error };
  }
}
