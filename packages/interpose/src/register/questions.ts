import os from 'node:os';
import type { DaemonThread } from './daemon-thread.js';
import { ask, type Answer } from './thread/ask.js';

/** The longest answer: a sign and the longest path. */
const MOST_BYTES = 4100;
/** Between two looks whether the daemon lives. */
const PATIENCE_MS = 250;

/** What is asked for, as in src-c/ask.h: the path of a copy; all names of a directory. */
const LETTERS = { readable: 'o', complete: 'd' } as const;

/** What the daemon has answered: a text, or the number of an error. It holds until it is let go. */
export interface Answered {
  readonly text: string;
  /** 0 if there is none. */
  readonly errno: number;
  readonly letGo: () => void;
}

const NOT_ANSWERED: Answered = { text: '', errno: os.constants.errno.EIO, letGo: () => undefined };

/**
 * Asks the daemon, and waits as long as it lives. Who waits without coming back to the event loop asks by the
 * thread.
 */
export class Questions {
  readonly #thread: DaemonThread;
  readonly #isServed: () => boolean;
  #last = 0;

  /** @param isServed Whether the daemon lives. */
  constructor(thread: DaemonThread, isServed: () => boolean) {
    this.#thread = thread;
    this.#isServed = isServed;
  }

  async ask(kind: keyof typeof LETTERS, key: string): Promise<Answered> {
    return understood(await ask(this.#thread.socket, `${LETTERS[kind]}${key}`, this.#isServed));
  }

  askSync(kind: keyof typeof LETTERS, key: string): Answered {
    // A daemon that hangs takes connections, and answers none.
    if (!this.#isServed()) return NOT_ANSWERED;
    const shared = new SharedArrayBuffer(8 + MOST_BYTES);
    const state = new Int32Array(shared, 0, 2);
    const id = (this.#last += 1);
    this.#thread.post({ id, question: `${LETTERS[kind]}${key}`, shared });
    while (Atomics.wait(state, 0, 0, PATIENCE_MS) === 'timed-out' && this.#isServed()) continue;
    const text = Buffer.from(shared, 8, state[1]).toString('utf8');
    return understood({ text, letGo: () => this.#thread.post(id) });
  }
}

function understood({ text, letGo }: Answer): Answered {
  if (text.startsWith('+')) return { text: text.slice(1), errno: 0, letGo };
  letGo();
  return { text: '', errno: Number(text.slice(1)) || os.constants.errno.EIO, letGo: () => undefined };
}
