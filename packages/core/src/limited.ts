import { raceAbort } from './abort.js';
import type { Turns } from './turns.js';

/** Runs in its turn. An abort while waiting rejects at once; once running, the operation itself is waited for. */
export function limited<T>(turns: Turns, signal: AbortSignal | undefined, run: () => Promise<T>): Promise<T> {
  if (signal === undefined) return turns.run(run);
  let started: Promise<T> | undefined;
  const queued = turns.run(async () => {
    signal.throwIfAborted();
    started = run();
    return started;
  });
  return raceAbort(queued, signal).catch((error: unknown) => {
    if (started !== undefined) return started;
    throw error;
  });
}
