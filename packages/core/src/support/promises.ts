import type { LimitFunction } from 'p-limit';
import { raceAbort } from './abort.js';

/**
 * Runs an operation under a limit. An abort while it is queued rejects at once. Once it runs, it is awaited.
 */
export function limited<T>(
  limit: LimitFunction,
  signal: AbortSignal | undefined,
  run: () => Promise<T>,
): Promise<T> {
  if (signal === undefined) return limit(run);
  let started: Promise<T> | undefined;
  const queued = limit(() => {
    signal.throwIfAborted();
    started = run();
    return started;
  });
  return raceAbort(queued, signal).catch((error: unknown) => {
    if (started !== undefined) return started;
    throw error;
  });
}

/**
 * As `Promise.all`, but settles when all promises have: only then does the memory that they write to belong
 * to the caller again.
 */
export async function allEnded<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  if (promises.length > 1) await Promise.allSettled(promises);
  return Promise.all(promises);
}
