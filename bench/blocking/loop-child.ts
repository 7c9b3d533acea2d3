import { systemClock } from '@tiered/core';
import { answerParent } from '../lib/child.js';
import { limited, type Work } from '../prefetch/loops.js';

/** Rounds of reading the same files, in a process that was started with a thread pool of another size. */
interface Task {
  readonly directory: string;
  readonly keys: readonly string[];
  readonly size: number;
  readonly concurrency: number;
}

/** Milliseconds that all files took once, by a promise a file. */
await answerParent(async ({ directory, keys, size, concurrency }: Task) => {
  const work = { directory, keys, size } as Work;
  const start = systemClock.now();
  await limited(concurrency, true)(work);
  return { ms: systemClock.now() - start };
});
