import type { Random } from '@tiered/core';
import fs from 'node:fs';
import {
  indexThreads,
  type Answer,
  type IndexOptions,
  type IndexThread,
} from '../../../packages/tiering/src/index/index-client.js';
import { Records } from '../../../packages/tiering/src/index/thread/records.js';
import type { SimulatedProcess } from './process.js';

/** What an index call meets, drawn for each call. */
type IndexFault = 'busy' | 'full' | 'io-before' | 'io-after';

const CODES: Readonly<Record<IndexFault, string>> = {
  busy: 'SQLITE_BUSY',
  full: 'SQLITE_FULL',
  'io-before': 'SQLITE_IOERR_READ',
  'io-after': 'SQLITE_IOERR_FSYNC',
};

/** Who opens an index under a path, and what its calls meet. */
export interface IndexUser {
  readonly process: SimulatedProcess;
  readonly random: Random;
  /** From 0 to 1, of each call. */
  readonly faultRate: number;
  readonly onFault: (fault: IndexFault) => void;
}

/** By the directory through which the index is reached, one for each process. */
const users = new Map<string, IndexUser>();

/** Says who it is that reaches indexes through a directory. */
export function nameUser(directory: string, user: IndexUser): void {
  users.set(directory, user);
}

export function forgetUser(directory: string): void {
  users.delete(directory);
}

/**
 * From now on indexes are opened in this thread, so that the order of all that happens comes from the seed
 * alone.
 */
export function runIndexesInProcess(): void {
  indexThreads.begin = (options) => {
    const directory = options.path.slice(0, options.path.lastIndexOf('/'));
    const user = users.get(directory);
    if (user === undefined) throw new Error(`nobody is known to reach an index through ${directory}`);
    return new IndexInProcess(options, user);
  };
}

interface Message {
  readonly id: number;
  readonly call: string;
  readonly options: unknown;
}

/** The thread of an index, without a thread. */
class IndexInProcess implements IndexThread {
  readonly #options: IndexOptions;
  readonly #user: IndexUser;
  #records: Records | undefined;
  #last: Promise<void> = Promise.resolve();
  #hear: (answer: Answer) => void = () => undefined;
  #exited: () => void = () => undefined;
  #isEnded = false;

  constructor(options: IndexOptions, user: IndexUser) {
    this.#options = options;
    this.#user = user;
    user.process.onKill(() => this.#close());
  }

  on(event: 'message' | 'error' | 'exit', listener: (what: never) => void): void {
    if (event === 'message') this.#hear = listener as (answer: Answer) => void;
    if (event === 'exit') this.#exited = listener as () => void;
  }

  ref(): void {
    // There is no thread that keeps the process.
  }

  unref(): void {
    // As above.
  }

  postMessage(message: Message | undefined): void {
    if (message === undefined) {
      this.#close();
      queueMicrotask(() => this.#exited());
      return;
    }
    const cloned = structuredClone(message);
    this.#last = this.#last
      .then(() => this.#user.process.slowly(async () => this.#answer(cloned)))
      .then((answer) => {
        if (answer !== undefined && !this.#isEnded) this.#hear(answer);
      });
  }

  #answer({ id, call, options }: Message): Answer | undefined {
    if (this.#isEnded) return undefined;
    try {
      const fault = this.#fault();
      if (fault !== undefined && fault !== 'io-after') throw failure(fault);
      this.#records ??= new Records({ ...this.#options, path: fs.realpathSync(this.#options.path) });
      const made = (this.#records as unknown as Record<string, (options: unknown) => unknown>)[call]?.(
        options,
      );
      if (fault !== undefined) throw failure(fault);
      return { id, result: structuredClone(made) };
    } catch (error) {
      const { code = 'SQLITE_CANTOPEN', message = String(error) } = error as {
        code?: string;
        message?: string;
      };
      return { id, failure: { code, message } };
    }
  }

  #fault(): IndexFault | undefined {
    const { random, faultRate, onFault } = this.#user;
    if (random.unit() >= faultRate) return undefined;
    const fault = (['busy', 'busy', 'full', 'io-before', 'io-after'] as const)[random.below(5)] ?? 'busy';
    onFault(fault);
    return fault;
  }

  #close(): void {
    this.#isEnded = true;
    this.#records?.close();
    // The connection is closed when its statements are collected.
    this.#records?.file.statements.clear();
    this.#records = undefined;
  }
}

function failure(fault: IndexFault): Error {
  return Object.assign(new Error(`injected: ${fault}`), { code: CODES[fault] });
}
