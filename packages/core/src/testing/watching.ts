import { getEventListeners } from 'node:events';

/** How many listeners wait for the signal to abort: zero at the end of a test means that none leaked. */
export function listenersOn(signal: AbortSignal): number {
  return getEventListeners(signal, 'abort').length;
}

/** Takes note of how a promise ends; empty as long as it has not. */
export function outcomeOf<T>(promise: Promise<T>): { value?: T; error?: unknown } {
  const outcome: { value?: T; error?: unknown } = {};
  promise.then(
    (value) => (outcome.value = value),
    (error: unknown) => (outcome.error = error),
  );
  return outcome;
}
