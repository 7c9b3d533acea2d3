import type { Clock } from '@tiered/core';
import os from 'node:os';
import { Interrupted, SIGNALLED } from './failure.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** A terminal sends a signal to all processes of a command, and a wrapper passes it on: that is one. */
const SAME_MS = 1000;

/**
 * Does work that has to clear up behind itself. A signal of the system aborts it, and it is waited for. A
 * second signal, a second later, ends the process: somebody does not want to wait.
 * @throws Interrupted if the work ends by it.
 */
export async function untilInterrupted<T>(
  clock: Clock,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const interrupted = new AbortController();
  let first: number | undefined;
  const stop = (name: NodeJS.Signals) => {
    if (first !== undefined && clock.now() - first > SAME_MS)
      process.exit(SIGNALLED + os.constants.signals[name]);
    first ??= clock.now();
    interrupted.abort(new Interrupted(name));
  };
  for (const one of SIGNALS) process.on(one, stop);
  try {
    return await work(interrupted.signal);
  } finally {
    for (const one of SIGNALS) process.off(one, stop);
  }
}

/**
 * Does work in which one listener to the signals of the system follows another. No signal ends the process
 * between two of them: the next one hears it.
 */
export async function holdingSignals<T>(work: () => Promise<T>): Promise<T> {
  const hold = () => undefined;
  for (const one of SIGNALS) process.on(one, hold);
  try {
    return await work();
  } finally {
    for (const one of SIGNALS) process.off(one, hold);
  }
}
