import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { TieredError, type Clock, type ErrorCode } from '@tiered/core';
import { raceAbort } from '@tiered/core/internal';
import type { RegistryEntry } from './registry.js';
import { CLOSED, IN_CALL } from './thread/gate.js';
import { Waiters } from './waiters.js';

/** The database's error codes, by their prefix, and ours. */
const CODES: readonly (readonly [string, ErrorCode])[] = [
  ['SQLITE_FULL', 'TIERED_NO_SPACE'],
  ['SQLITE_READONLY', 'TIERED_READ_ONLY'],
  ['SQLITE_PERM', 'TIERED_PERMISSION'],
  ['EACCES', 'TIERED_PERMISSION'],
  ['EPERM', 'TIERED_PERMISSION'],
  ['EROFS', 'TIERED_READ_ONLY'],
  ['ENOSPC', 'TIERED_NO_SPACE'],
  ['TIERED_PERMISSION', 'TIERED_PERMISSION'],
  ['TIERED_DIRECTORY_NOT_OURS', 'TIERED_DIRECTORY_NOT_OURS'],
];

/** The calls that the thread answers. Times are milliseconds of a clock that all processes share. */
interface RecordCalls {
  open(options: undefined): void;
  put(options: {
    readonly slot: string;
    readonly owner: string;
    readonly record: string;
    readonly now: number;
    readonly ttl: number;
  }): boolean;
  all(options: { readonly now: number }): readonly RegistryEntry[];
  leave(options: { readonly slot: string; readonly owner: string }): void;
  version(options: undefined): string;
}

interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly failure?: { readonly code: string; readonly message: string };
}

interface Waiting {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

/** Milliseconds for which `end` waits for a call in flight, so that a hanging disk cannot block it longer. */
const LONGEST_WAIT_MS = 1000;

/** The abort reason of the wait for the thread's end, once the thread has ended. */
const EXITED = new Error('the thread of the registry has ended');

/** The gates of all threads. They are closed when this process or this thread ends without closing them. */
const gates = new Set<Int32Array>();

function closeGates(): void {
  for (const gate of gates) Atomics.store(gate, CLOSED, 1);
  for (const gate of gates) Atomics.wait(gate, IN_CALL, 1, LONGEST_WAIT_MS);
}

/** Resolved by the package's own name for it, since this module may be in any file of the build. */
const THREAD = createRequire(import.meta.url).resolve('#registry-thread');

/**
 * The file of an embedded registry, kept open by its own thread. No call blocks the event loop, however slow
 * the disk is.
 */
export class RecordThread {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  readonly #gate = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  readonly #waiting = new Map<number, Waiting>();
  /** Calls that are no longer waited for, and that the thread has not answered. */
  #late = 0;
  readonly #caughtUp = new Waiters();
  #asked = 0;
  #ended: Error | undefined;

  /**
   * @param path The path of the file.
   * @param name The name of the registry, for messages.
   * @param clock Bounds the wait at the end.
   */
  constructor(path: string, name: string, clock: Clock) {
    this.#name = name;
    this.#clock = clock;
    this.#worker = new Worker(THREAD, { workerData: { path, gate: this.#gate }, execArgv: [] });
    if (gates.size === 0) process.on('exit', closeGates);
    gates.add(this.#gate);
    // Only calls that are waited for keep the process alive.
    this.#worker.unref();
    this.#worker.on('message', (answer: Answer) => this.#answered(answer));
    this.#worker.on('error', (error) => this.#over(error));
    this.#exited = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        this.#over(undefined);
        gates.delete(this.#gate);
        if (gates.size === 0) process.off('exit', closeGates);
        resolve();
      });
    });
  }

  /**
   * Makes a call, and retries while another process is writing.
   * @param signal Aborts the retries and the wait.
   */
  async call<C extends keyof RecordCalls>(
    call: C,
    options: Parameters<RecordCalls[C]>[0],
    signal: AbortSignal,
  ): Promise<ReturnType<RecordCalls[C]>> {
    for (;;) {
      signal.throwIfAborted();
      try {
        return await this.#once(call, options, signal);
      } catch (error) {
        // The thread has already waited for the other process.
        if (!isBusy(error)) throw error;
      }
    }
  }

  /**
   * Ends the thread after the call in flight, with at most a second's wait for a call that hangs. Idempotent.
   */
  async end(): Promise<void> {
    this.#over(undefined);
    Atomics.store(this.#gate, CLOSED, 1);
    this.#worker.ref();
    // Makes the thread check the gate.
    this.#worker.postMessage(undefined);
    const exited = new AbortController();
    const late = this.#clock.sleep(LONGEST_WAIT_MS, exited.signal, { background: true });
    await Promise.race([this.#exited, late]);
    exited.abort(EXITED);
    this.#worker.unref();
  }

  async #once<C extends keyof RecordCalls>(
    call: C,
    options: unknown,
    signal: AbortSignal,
  ): Promise<ReturnType<RecordCalls[C]>> {
    // Send no calls to a disk that hangs, or they would pile up for ever.
    while (this.#late > 0) await this.#caughtUp.wait(signal);
    if (this.#ended !== undefined) throw this.#ended;
    this.#asked += 1;
    const id = this.#asked;
    if (this.#waiting.size === 0) this.#worker.ref();
    const answer = new Promise<ReturnType<RecordCalls[C]>>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, call, options });
    });
    try {
      return await raceAbort(answer, signal);
    } finally {
      if (this.#waiting.delete(id)) this.#late += 1;
      if (this.#waiting.size === 0) this.#worker.unref();
    }
  }

  #answered({ id, result, failure }: Answer): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) {
      this.#late -= 1;
      if (this.#late === 0) this.#caughtUp.wake();
      return;
    }
    this.#waiting.delete(id);
    if (failure === undefined) waiting.resolve(result as never);
    else waiting.reject(this.#errorOf(failure));
  }

  #errorOf(failure: { readonly code: string; readonly message: string }): Error {
    const { code, message } = failure;
    const cause = Object.assign(new Error(message), { code });
    if (isBusy(cause)) return cause;
    const [, ours] = CODES.find(([beginning]) => code.startsWith(beginning)) ?? ['', 'TIERED_IO' as const];
    const text = `${this.#name}: ${message}${code.startsWith('TIERED_') ? '' : ` (${code})`}.`;
    return new TieredError(ours, text, { cause, retryable: ours === 'TIERED_IO' });
  }

  #over(cause: Error | undefined): void {
    this.#ended ??= new TieredError('TIERED_IO', `${this.#name} has no thread any more.`, { cause });
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
    this.#waiting.clear();
  }
}

/** Whether another process is writing. */
function isBusy(error: unknown): boolean {
  const { code = '' } = error as { readonly code?: string };
  return code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED');
}
