import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { RoundProcess, writePaths } from '../lib/round-process.js';
import type { Work } from '../prefetch/loops.js';

/** Loops that `node-loop-child.ts` knows. */
export type LoopName = 'p-limit' | 'tfjs-data' | 'cacache' | 'prefetcher' | 'prefetcher in batches';

/** A loop to be started. */
export interface NodeLoop {
  readonly loop: LoopName;
  /** Of libuv. Default: Node's own number, four. */
  readonly threads?: number | undefined;
  /** Where cacache's code is, for the loop that needs it. */
  readonly module?: string | undefined;
}

/**
 * Starts a process of Node that reads some work by a loop: the size of its thread pool must be known when it
 * starts.
 */
export async function startNodeLoop(
  { loop, threads, module = '' }: NodeLoop,
  { directory, keys, size }: Pick<Work, 'directory' | 'keys' | 'size'>,
  scratch: string,
): Promise<RoundProcess> {
  const child = fileURLToPath(new URL('node-loop-child.ts', import.meta.url));
  const list = await writePaths(
    scratch,
    keys.map((key) => path.join(directory, key)),
  );
  return RoundProcess.start({
    command: process.execPath,
    arguments: [...process.execArgv, child, loop, list, directory, `${size}`, module],
    environment: { UV_THREADPOOL_SIZE: threads === undefined ? undefined : `${threads}` },
    bytes: keys.length * size,
  });
}
