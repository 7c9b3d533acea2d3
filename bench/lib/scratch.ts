import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Works in a new directory below the system's temporary one (`TMPDIR` moves it to another disk), which is
 * gone afterwards: also after a failure, Ctrl-C or a polite kill.
 */
export async function withScratch<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-bench-'));
  // Tried again, because writes that are still under way may put files into what is being removed.
  const remove = () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  const stop = (signal: (typeof SIGNALS)[number]) => process.exit(128 + os.constants.signals[signal]);
  process.once('exit', remove);
  for (const signal of SIGNALS) process.once(signal, stop);
  try {
    return await work(directory);
  } finally {
    process.off('exit', remove);
    for (const signal of SIGNALS) process.off(signal, stop);
    remove();
  }
}
