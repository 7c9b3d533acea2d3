import { onAbort } from '../../support/abort.js';
import type { Clock } from '../../support/clock.js';
import { isTieredError } from '../../support/errors.js';
import type { Allowance } from './allowance.js';
import type { LateWatch } from './late-watch.js';

/** The reason to abort a request whose answer is no longer needed. No caller sees it. */
const ANSWERED = new Error('tiered: the other request of a hedged read gave the answer');

/** The shortest timer. */
const LAST_MS = 1;

/** A read that can be made a second time, concurrently. */
export interface HedgeableRead<T> {
  readonly bytes: number;
  readonly signal: AbortSignal | undefined;
  /** Whether the first request writes into the caller's memory. */
  readonly isIntoMemory: boolean;
  /** The first request. */
  first(signal: AbortSignal | undefined): Promise<T>;
  /** The second request, into memory of its own. */
  second(signal: AbortSignal): Promise<Uint8Array>;
  /**
   * Whether the answer of the second request agrees with the bytes of the first that were reported to the
   * caller as final.
   */
  agrees(answer: Uint8Array): boolean;
  /**
   * Makes the caller's result from the answer of the second request, once the first request no longer touches
   * any memory.
   */
  resultOf(answer: Uint8Array): T;
}

/** The dependencies of a hedged read. */
export interface HedgeHost {
  readonly clock: Clock;
  readonly allowance: Allowance;
  readonly watch: LateWatch;
  /** Waits for both requests before the driver is closed. */
  readonly outlives: (requests: Promise<unknown>) => void;
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/**
 * One read that gets a second request once the first is late, and takes the first answer of the two. The
 * other request then touches no memory of the caller.
 *
 * Errors of the second request are not reported. After a retryable error of the first, the second decides.
 * Any other error of the first is the answer.
 */
export class HedgedRead<T> {
  readonly #read: HedgeableRead<T>;
  readonly #lateAfterMs: number;
  readonly #host: HedgeHost;
  readonly #endOfFirst = new AbortController();
  /** Aborts the second request of a late read. */
  #endOfSecond: AbortController | undefined;
  #isHedged = false;

  constructor(read: HedgeableRead<T>, lateAfterMs: number, host: HedgeHost) {
    this.#read = read;
    this.#lateAfterMs = lateAfterMs;
    this.#host = host;
  }

  async run(): Promise<T> {
    const stopListening = onAbort(this.#read.signal, (reason) => {
      this.#endOfFirst.abort(reason);
      this.#endOfSecond?.abort(reason);
    });
    const first = outcomeOf(this.#read.first(this.#endOfFirst.signal));
    let stopWatching: () => void = () => undefined;
    const second = new Promise<Uint8Array | undefined>((resolve) => {
      stopWatching = this.#host.watch.after(this.#lateAfterMs - LAST_MS, () => resolve(this.#second()));
    });
    try {
      return await this.#either(first, second);
    } finally {
      stopListening();
      stopWatching();
      // The read may have become late at this very moment.
      this.#endOfSecond?.abort(ANSWERED);
      if (this.#isHedged) this.#letGo(Promise.all([first, second]));
    }
  }

  async #either(first: Promise<Outcome<T>>, second: Promise<Uint8Array | undefined>): Promise<T> {
    const { allowance } = this.#host;
    const isAborted = () => this.#read.signal?.aborted === true;
    let answer = await Promise.race([first.then(() => undefined), second]);
    if (answer === undefined || !this.#read.agrees(answer)) {
      // The first has ended, or there is no usable second answer.
      const outcome = await first;
      const mayPass = 'error' in outcome && isTieredError(outcome.error) && outcome.error.retryable;
      answer = mayPass && this.#isHedged && !isAborted() ? await second : undefined;
      if (answer === undefined || !this.#read.agrees(answer)) {
        this.#endOfSecond?.abort(ANSWERED);
        if (this.#isHedged && !isAborted()) allowance.lost();
        if ('error' in outcome) throw outcome.error;
        return outcome.value;
      }
    }
    allowance.won();
    this.#endOfFirst.abort(ANSWERED);
    if (this.#read.isIntoMemory) await first;
    return this.#read.resultOf(answer);
  }

  /** Resolves to the answer of a second request; undefined if there was none, or it failed. */
  async #second(): Promise<Uint8Array | undefined> {
    const { clock, allowance } = this.#host;
    // An aborted caller wants no second request, however long the first takes to end.
    if (this.#endOfFirst.signal.aborted) return undefined;
    this.#endOfSecond = new AbortController();
    const { signal } = this.#endOfSecond;
    try {
      // A busy event loop fires timers before it processes answers that have arrived. This timer starts after
      // that.
      await clock.sleep(Math.min(LAST_MS, this.#lateAfterMs), signal);
      if (!allowance.take(this.#read.bytes)) return undefined;
      this.#isHedged = true;
      return await this.#read.second(signal);
    } catch {
      return undefined;
    }
  }

  #letGo(requests: Promise<unknown>): void {
    const { allowance, outlives } = this.#host;
    outlives(requests.then(() => allowance.giveBack(this.#read.bytes)));
  }
}

function outcomeOf<T>(promise: Promise<T>): Promise<Outcome<T>> {
  return promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
}
