import { raceAbort } from '@tiered/core/internal';

/** Work that begins when the previous work has ended, unless all its callers have given up. */
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

  /** Whether callers may still join: the work has not begun. */
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
 * Work shared by callers with the same key, whose result is at least as new as each call: the work begins
 * after the call. Each key has one at a time. Calls that come during the work wait together for the next one.
 * Work whose callers have all given up is aborted.
 */
export class FreshCalls<T> {
  readonly #work: (key: string, signal: AbortSignal) => Promise<T>;
  /** The latest call of each key, until it has ended. */
  readonly #calls = new Map<string, Call<T>>();

  constructor(work: (key: string, signal: AbortSignal) => Promise<T>) {
    this.#work = work;
  }

  /** Does the work for a key, or joins it. An abort ends the waiting at once. */
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
