import { raceAbort } from '@tiered/core/internal';

/** Work that begins when what was before it has ended, unless nobody waits for it any more. */
class Call<T> {
  readonly result: Promise<T>;
  readonly #end = new AbortController();
  #waiting = 0;
  #hasBegun = false;

  constructor(before: Promise<unknown> | undefined, work: (signal: AbortSignal) => Promise<T>) {
    const begin = () => {
      this.#end.signal.throwIfAborted();
      this.#hasBegun = true;
      return work(this.#end.signal);
    };
    this.result = (before ?? Promise.resolve()).then(begin, begin);
    this.result.catch(() => undefined);
  }

  /** Whether it may still be waited for: it is to begin after that. */
  get isAhead(): boolean {
    return !this.#hasBegun && !this.#end.signal.aborted;
  }

  async wait(signal: AbortSignal): Promise<T> {
    this.#waiting += 1;
    try {
      return await raceAbort(this.result, signal);
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#end.abort(new Error('Nobody waits for it any more.'));
    }
  }
}

/**
 * Work that callers with the same key share, and whose result is as new as each call: it began after the call
 * did. So there is one at a time for each key. Calls that come while it is under way wait for the next one,
 * together. Work that nobody waits for any more is aborted.
 */
export class FreshCalls<T> {
  readonly #work: (key: string, signal: AbortSignal) => Promise<T>;
  /** The latest of each key, until it has ended. */
  readonly #calls = new Map<string, Call<T>>();

  constructor(work: (key: string, signal: AbortSignal) => Promise<T>) {
    this.#work = work;
  }

  /** Does the work for a key, or has a part in it. An abort ends the waiting at once. */
  async call(key: string, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const latest = this.#calls.get(key);
    const call = latest?.isAhead === true ? latest : this.#begin(key, latest);
    return call.wait(signal);
  }

  #begin(key: string, latest: Call<T> | undefined): Call<T> {
    const call = new Call(latest?.result, (signal) => this.#work(key, signal));
    this.#calls.set(key, call);
    const ended = () => {
      if (this.#calls.get(key) === call) this.#calls.delete(key);
    };
    call.result.then(ended, ended);
    return call;
  }
}
