import { Worker } from 'node:worker_threads';
import { TieredError, type Clock, type ErrorCode } from '@tiered/core';
import { INDEX_THREAD } from '../thread-file.js';
import { CLOSED, IN_CALL } from './thread/gate.js';
import type { Calls } from './index-messages.js';

/** Error codes of the database by prefix, the codes that they map to, and whether they are retryable. */
const CODES: readonly (readonly [string, ErrorCode, boolean])[] = [
  ['SQLITE_BUSY', 'TIERED_UNAVAILABLE', true],
  ['SQLITE_LOCKED', 'TIERED_UNAVAILABLE', true],
  ['SQLITE_FULL', 'TIERED_NO_SPACE', false],
  ['SQLITE_READONLY', 'TIERED_READ_ONLY', false],
  ['SQLITE_PERM', 'TIERED_PERMISSION', false],
  ['SQLITE_CORRUPT', 'TIERED_DATA_CORRUPT', false],
  ['SQLITE_NOTADB', 'TIERED_DATA_CORRUPT', false],
  // A sound index accepts every statement of ours. The header or the schema is damaged.
  ['SQLITE_ERROR', 'TIERED_DATA_CORRUPT', false],
];

/** What happened to the index, and the remedy where it is not obvious. */
const MEANINGS: Partial<Record<ErrorCode, string>> = {
  TIERED_UNAVAILABLE: 'is held by another process, which may be stopped',
  TIERED_NO_SPACE: 'has no room; free some on the disk, or give the tier a quota that the disk has room for',
};

/** The place of an index, and how it is kept. */
export interface IndexOptions {
  readonly path: string;
  /** Whether a change is on the disk itself when its call resolves. */
  readonly durable: boolean;
  /** Pages of the write-ahead log after which it is checkpointed into the index. */
  readonly logPages: number;
}

/** The result of a call. */
export interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly failure?: { readonly code: string; readonly message: string };
}

/**
 * Executes the calls of an index one after the other, and answers each with a message. The part of a `Worker`
 * that is used.
 */
export interface IndexThread {
  /** @param call The call; undefined tells the thread to end. */
  postMessage(
    call: { readonly id: number; readonly call: string; readonly options: unknown } | undefined,
  ): void;
  on(event: 'message', listener: (answer: Answer) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'exit', listener: () => void): unknown;
  ref(): void;
  unref(): void;
}

/** Starts threads. Replaced if one process simulates many, in which nothing may run on its own. */
export const indexThreads = {
  begin: (options: IndexOptions, gate: Int32Array): IndexThread =>
    new Worker(INDEX_THREAD, { workerData: { ...options, gate }, execArgv: [] }),
};

interface Waiting {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Milliseconds for which the end of a client, or of a process, waits for a call in progress, so that a
 * hanging disk does not delay it longer.
 */
const LONGEST_WAIT_MS = 1000;

/** Abort reason of the timer for the end of a thread. */
const EXITED = new Error('the thread of the index has ended');

/**
 * The gates of all threads. They are closed if this process, or this thread, ends without closing its
 * indexes.
 */
const gates = new Set<Int32Array>();

function closeGates(): void {
  for (const gate of gates) Atomics.store(gate, CLOSED, 1);
  for (const gate of gates) Atomics.wait(gate, IN_CALL, 1, LONGEST_WAIT_MS);
}

/**
 * Client of a tier's index, which its own thread keeps open. No call blocks the event loop, even on a slow
 * disk.
 */
export class IndexClient {
  readonly #driver: string;
  readonly #clock: Clock;
  readonly #onDamage: () => Promise<void>;
  readonly #thread: IndexThread;
  readonly #exited: Promise<void>;
  readonly #gate = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  readonly #waiting = new Map<number, Waiting>();
  #asked = 0;
  #ended: Error | undefined;
  #isDamaged = false;
  #noted: Promise<void> | undefined;

  /**
   * @param options The place of the index, and how it is kept.
   * @param driver The name of the driver, for messages.
   * @param clock Bounds the wait at the end.
   * @param onDamage Called once, before the first call fails because the index is damaged. `end` waits for
   * it. Never rejects.
   */
  constructor(options: IndexOptions, driver: string, clock: Clock, onDamage = () => Promise.resolve()) {
    this.#driver = driver;
    this.#clock = clock;
    this.#onDamage = onDamage;
    this.#thread = indexThreads.begin(options, this.#gate);
    if (gates.size === 0) process.on('exit', closeGates);
    gates.add(this.#gate);
    // Only pending calls keep the process alive.
    this.#thread.unref();
    this.#thread.on('message', (answer) => this.#answered(answer));
    this.#thread.on('error', (error) => this.#over(error));
    this.#exited = new Promise((resolve) => {
      this.#thread.on('exit', () => {
        this.#over(undefined);
        gates.delete(this.#gate);
        if (gates.size === 0) process.off('exit', closeGates);
        resolve();
      });
    });
  }

  /** Whether the client has stopped answering: it was closed, or its thread died. */
  get isEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** Whether a call failed because the index is damaged. */
  get isDamaged(): boolean {
    return this.#isDamaged;
  }

  /**
   * Makes a call.
   * @throws TieredError `TIERED_UNAVAILABLE` while another process writes, and other errors of storage
   * operations.
   */
  call<C extends keyof Calls>(call: C, options: Parameters<Calls[C]>[0]): Promise<ReturnType<Calls[C]>> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    this.#asked += 1;
    const id = this.#asked;
    if (this.#waiting.size === 0) this.#thread.ref();
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#thread.postMessage({ id, call, options });
    });
  }

  /**
   * Closes the index after the call in progress. Unanswered calls fail. Idempotent. Waits one second for a
   * hanging call; the index is closed when that call ends.
   */
  async end(): Promise<void> {
    this.#over(undefined);
    Atomics.store(this.#gate, CLOSED, 1);
    this.#thread.ref();
    // Makes the thread look at the gate.
    this.#thread.postMessage(undefined);
    const exited = new AbortController();
    const late = this.#clock.sleep(LONGEST_WAIT_MS, exited.signal, { background: true });
    await Promise.race([Promise.all([this.#exited, this.#noted]), late]);
    exited.abort(EXITED);
    this.#thread.unref();
  }

  #answered({ id, result, failure }: Answer): void {
    const waiting = this.#waiting.get(id);
    // The client was ended meanwhile.
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#thread.unref();
    if (failure === undefined) {
      waiting.resolve(result as never);
      return;
    }
    const error = this.#errorOf(failure);
    if (error.code === 'TIERED_DATA_CORRUPT' && !this.#isDamaged) {
      this.#isDamaged = true;
      this.#noted = this.#onDamage();
    }
    waiting.reject(error);
  }

  #errorOf({ code, message }: { readonly code: string; readonly message: string }): TieredError {
    const [, ours, retryable] = CODES.find(([beginning]) => code.startsWith(beginning)) ?? [
      '',
      'TIERED_IO',
      true,
    ];
    const what = MEANINGS[ours] ?? 'failed';
    return new TieredError(ours, `${this.#driver}: the tier's index ${what}: ${message} (${code}).`, {
      driver: this.#driver,
      operation: 'openIndex',
      retryable,
    });
  }

  #over(cause: Error | undefined): void {
    const why = cause === undefined ? 'is closed' : `has no thread: ${cause.message}`;
    // Not retryable with this client, unlike a write that another process prevents.
    this.#ended ??= new TieredError('TIERED_IO', `${this.#driver}: the tier's index ${why}.`, {
      cause,
      driver: this.#driver,
      operation: 'openIndex',
    });
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
    this.#waiting.clear();
  }
}
