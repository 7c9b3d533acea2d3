import { IoThreads } from '@tiered/native';
import { problemOf } from '../root/keys.js';
import type { OperationOptions } from '@tiered/core';
import type { ReadRequest } from '@tiered/core/driver';

/** The result of a batch. */
export interface ThreadsRead {
  /**
   * For each request, the bytes that were read, or a number below 0 if the driver has to read it again and
   * explain it.
   */
  readonly counts: ArrayLike<number>;
  /** Milliseconds that the threads spent on it, added up; undefined if it did not end. */
  readonly ms: number | undefined;
}

/** Threads that read whole batches of files into shared memory by blocking calls. */
export interface BatchThreads {
  /** The most files that they have open now. */
  readonly openFiles: number;
  /** Whether they read pieces; else the requests of a batch have none. */
  readonly readPieces: boolean;
  /** Whether a batch would be read now. Starts what is not running. */
  readonly areReady: boolean;
  /** Reads a batch. Settles when nothing is written to the targets any more, even if the signal aborts. */
  read(requests: readonly ReadRequest[], options: OperationOptions): Promise<ThreadsRead>;
  /** Ends the threads. No batch is under way. */
  close(): Promise<void>;
}

/** What threads are told at their start. */
export interface ThreadsRoot {
  /** The real path of the directory that they may not leave. */
  readonly root: string;
  /** Whether a batch may be left behind while a disk hangs. */
  readonly mayHang: boolean;
}

/**
 * Returns the most files that native threads have open. Files that wait for a thread are not open yet, and
 * those that hang still are.
 */
export function openIn(io: IoThreads): number {
  const { items, left } = io.counts;
  return items + left;
}

/**
 * Reads batches in native threads. Single reads have others, so a batch of files in memory never waits behind
 * a slow read.
 */
export class NativeBatches implements BatchThreads {
  readonly #io: IoThreads;
  readonly areReady = true;
  readonly readPieces = true;

  constructor(root: ThreadsRoot, threads: number) {
    this.#io = new IoThreads({ ...root, threads });
  }

  get openFiles(): number {
    return openIn(this.#io);
  }

  async read(requests: readonly ReadRequest[], { signal }: OperationOptions): Promise<ThreadsRead> {
    // The driver says what is wrong with a key. It also knows the keys that are its own.
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
