import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { systemClock } from '@tiered/core';
import { TELLER_THREAD } from '../thread-file.js';

/** Messages that wait for the thread. What comes on top is lost: the daemon counts fewer opens. */
const MOST = 4096;
/** The longest that the end of the program waits for the last messages, in milliseconds. */
const LAST_MS = 500;

/**
 * Tells the daemon what the program opens. Nothing waits for that, but the end of the program, for half a
 * second at most. A thread begins with the first message, and keeps no program alive.
 */
export class Teller {
  readonly #socket: string;
  readonly #handled = new Int32Array(new SharedArrayBuffer(4));
  #worker: Worker | undefined;
  #sent = 0;

  /** @param directory Of the session. */
  constructor(directory: string) {
    this.#socket = path.join(directory, 'socket');
    process.once('exit', () => this.#finish());
  }

  /** A file was opened as its copy, or in the source. */
  tell(kind: 'copy' | 'source', key: string): void {
    if (this.#sent - Atomics.load(this.#handled, 0) >= MOST) return;
    this.#sent += 1;
    this.#thread().postMessage(`${kind === 'copy' ? 'c' : 's'}${key}`);
  }

  #thread(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const workerData = { socket: this.#socket, handled: this.#handled };
    this.#worker = new Worker(TELLER_THREAD, { workerData, execArgv: [] });
    // Without it the program goes on, and the daemon hears nothing.
    this.#worker.on('error', () => undefined);
    this.#worker.unref();
    return this.#worker;
  }

  /** Programs that never come back to their event loop end before the thread has begun. */
  #finish(): void {
    const until = systemClock.now() + LAST_MS;
    for (;;) {
      const handled = Atomics.load(this.#handled, 0);
      const left = until - systemClock.now();
      if (handled >= this.#sent || left <= 0) return;
      Atomics.wait(this.#handled, 0, handled, left);
    }
  }
}
