import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { REGISTER_THREAD } from '../thread-file.js';

/** A question that the program waits for, without coming back to its event loop. */
export interface Asked {
  readonly id: number;
  /** A letter and a key. */
  readonly question: string;
  /** For the answer: a word that is 1 when it is there, one for its bytes, and room for these. */
  readonly shared: SharedArrayBuffer;
}

/**
 * The thread that speaks with the daemon while the program does something else, or waits. It begins with the
 * first message, and keeps no program alive.
 */
export class DaemonThread {
  readonly socket: string;
  /** Texts that it has handed to the kernel, or lost. */
  readonly handled = new Int32Array(new SharedArrayBuffer(4));
  #worker: Worker | undefined;

  /** @param directory Of the session. */
  constructor(directory: string) {
    this.socket = path.join(directory, 'socket');
  }

  /** @param message A text for the daemon, a question, or the number of one whose answer is let go. */
  post(message: string | Asked | number): void {
    this.#started().postMessage(message);
  }

  #started(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const workerData = { socket: this.socket, handled: this.handled };
    this.#worker = new Worker(REGISTER_THREAD, { workerData, execArgv: [] });
    // Without it the program goes on, and the daemon hears nothing.
    this.#worker.on('error', () => undefined);
    this.#worker.unref();
    return this.#worker;
  }
}
