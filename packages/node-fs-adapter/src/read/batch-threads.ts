import { IoThreads } from '@tiered/native';
import { problemOf } from '../root/keys.js';
import type { OperationOptions, ReadRequest } from '@tiered/core';

/** What a batch came to. */
export interface ThreadsRead {
  /** Of each request, the bytes that were read; below 0 for what the driver has to read again, and to explain. */
  readonly counts: ArrayLike<number>;
  /** Milliseconds that it took the threads, those of each added up; undefined if it did not end. */
  readonly ms: number | undefined;
}

/** Threads that read whole batches of files into shared memory by blocking calls. */
export interface BatchThreads {
  /** Files that they have open now, at most. */
  readonly openFiles: number;
  /** Whether a batch would be read now. Starts what is not running. */
  readonly areReady: boolean;
  /** Reads a batch; settles, when nothing is written to the targets any more, also if the signal aborts. */
  read(requests: readonly ReadRequest[], options: OperationOptions): Promise<ThreadsRead>;
  /** Ends the threads. No batch is under way. */
  close(): Promise<void>;
}

/** What threads are told at their start. */
export interface ThreadsRoot {
  /** The real path of the directory that they may not leave. */
  readonly root: string;
  /** Whether who waits for a batch may leave while a disk hangs. */
  readonly mayHang: boolean;
}

/**
 * Files that native threads have open, at most: those that wait for a thread are not open yet, and those that hang
 * still are.
 */
export function openIn(io: IoThreads): number {
  const { items, left } = io.counts;
  return items + left;
}

/**
 * Native threads, which are apart from those of single reads: a batch of files in memory never waits behind a slow one.
 */
export class NativeBatches implements BatchThreads {
  readonly #io: IoThreads;
  readonly areReady = true;

  constructor(root: ThreadsRoot, threads: number) {
    this.#io = new IoThreads({ ...root, threads });
  }

  get openFiles(): number {
    return openIn(this.#io);
  }

  async read(requests: readonly ReadRequest[], { signal }: OperationOptions): Promise<ThreadsRead> {
    // What is wrong with a key the driver says, which knows those that are its own as well.
    const possible = requests.map((request) =>
      problemOf(request.key) === undefined ? request : { ...request, key: '' },
    );
    const { outcomes, busyMs } = await this.#io.readMany(possible, { signal });
    return { counts: outcomes, ms: signal?.aborted === true ? undefined : busyMs };
  }

  close(): Promise<void> {
    return this.#io.close();
  }
}
