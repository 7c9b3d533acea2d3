import { systemClock } from '@tiered/core';
import type { DaemonThread } from './daemon-thread.js';

/** Messages that wait for the thread. What comes on top is lost: the daemon counts fewer opens. */
const MOST = 4096;
/** The longest that the end of the program waits for the last messages, in milliseconds. */
const LAST_MS = 500;

/**
 * Tells the daemon what the program opens. Nothing waits for that, but the end of the program, for half a
 * second at most.
 */
export class Teller {
  readonly #thread: DaemonThread;
  #sent = 0;

  constructor(thread: DaemonThread) {
    this.#thread = thread;
    process.once('exit', () => this.#finish());
  }

  /** A file was opened as its copy, or in the source. */
  tell(kind: 'copy' | 'source', key: string): void {
    if (this.#sent - Atomics.load(this.#thread.handled, 0) >= MOST) return;
    this.#sent += 1;
    this.#thread.post(`${kind === 'copy' ? 'c' : 's'}${key}`);
  }

  /** Programs that never come back to their event loop end before the thread has begun. */
  #finish(): void {
    const until = systemClock.now() + LAST_MS;
    for (;;) {
      const handled = Atomics.load(this.#thread.handled, 0);
      const left = until - systemClock.now();
      if (handled >= this.#sent || left <= 0) return;
      Atomics.wait(this.#thread.handled, 0, handled, left);
    }
  }
}
