import { onAbort } from '../support/abort.js';
import { systemClock, type Clock } from '../support/clock.js';
import type { ListOptions, ObjectStat, StorageDriver } from '../driver/driver.js';
import { assertCounts, assertMilliseconds, isTieredError, TieredError } from '../support/errors.js';
import { Random } from '../support/random.js';
import { InterceptingDriver, type DriverCall } from './intercepting-driver.js';

/** Options of `RetryDriver`. */
export interface RetryDriverOptions {
  /**
   * The most tries, including the first. Default: as many as fit into the deadline, so that one option
   * determines how long to wait.
   */
  readonly attempts?: number | undefined;
  /** Upper bound of the first pause, in milliseconds. It doubles with each try. Default: 50. */
  readonly baseDelayMs?: number | undefined;
  /** Upper bound of every pause, in milliseconds. Default: 5,000. */
  readonly maxDelayMs?: number | undefined;
  /**
   * Milliseconds for all tries of an operation together. A try in flight at the deadline is aborted. Default:
   * 60,000, longer than any healthy read and short enough to be noticed. 600,000 survives an outage of ten
   * minutes.
   */
  readonly deadlineMs?: number | undefined;
  /** Seeds the jitter, so that a run can be reproduced. Default: 0. */
  readonly seed?: number | undefined;
  /** Default: the machine's clock. */
  readonly clock?: Clock | undefined;
}

/**
 * Retries an operation when its error is `retryable`, after a pause drawn uniformly from 0 to the bound of
 * that try. This full jitter keeps clients that failed together from coming back together.
 *
 * When the deadline passes, it throws `TIERED_DEADLINE` with `attempts` and the last error as its cause. When
 * a limited number of tries is used up, it throws the last error again, with its code, `attempts`, and
 * `retryable: false`. Both messages name the two options. A write whose pieces come only once, and the
 * `publish` of an object written in parts, pass unchanged, without retries and without a deadline. A listing
 * is restarted only until it has returned a page.
 *
 * **Order.** Put it around `LimitDriver`, `ThrottleDriver` and `FaultDriver`. Use only one: a `RetryDriver`
 * inside another multiplies the tries.
 */
export class RetryDriver extends InterceptingDriver {
  readonly #attempts: number;
  readonly #baseDelayMs: number;
  readonly #maxDelayMs: number;
  readonly #deadlineMs: number;
  readonly #random: Random;
  readonly #clock: Clock;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for numbers that cannot work. */
  constructor(inner: StorageDriver, options: RetryDriverOptions = {}) {
    super(inner);
    const { attempts, baseDelayMs = 50, maxDelayMs = 5_000, deadlineMs = 60_000 } = options;
    if (attempts !== undefined) assertCounts({ attempts });
    assertMilliseconds({ baseDelayMs, maxDelayMs, deadlineMs });
    this.#attempts = attempts ?? Infinity;
    this.#baseDelayMs = baseDelayMs;
    this.#maxDelayMs = maxDelayMs;
    this.#deadlineMs = deadlineMs;
    this.#random = new Random(options.seed ?? 0);
    this.#clock = options.clock ?? systemClock;
  }

  /** Restarts only until a page was returned, because a page cannot be taken back. */
  override async *list({
    signal,
    ...options
  }: ListOptions): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    let pages: AsyncIterator<readonly ObjectStat[]> | undefined;
    // The listing outlives the tries for its first page. It ends with their deadline, or with the caller's
    // signal.
    const end = new AbortController();
    const stopListening = onAbort(signal, (reason) => end.abort(reason));
    const first = (attempt: AbortSignal) => {
      onAbort(attempt, (reason) => end.abort(reason));
      pages = this.inner.list({ ...options, signal: end.signal })[Symbol.asyncIterator]();
      return pages.next();
    };
    try {
      let page = await this.#repeatedly('list', '', signal, first);
      while (page.done !== true) {
        yield page.value;
        if (pages === undefined) return;
        page = await pages.next();
      }
    } finally {
      stopListening();
      await pages?.return?.();
    }
  }

  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    if (!call.repeatable) return call.proceed();
    return this.#repeatedly(call.operation, call.key, call.signal, call.proceed);
  }

  async #repeatedly<T>(
    operation: string,
    key: string,
    signal: AbortSignal | undefined,
    attempt: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const end = new AbortController();
    const stopListening = onAbort(signal, (reason) => end.abort(reason));
    const timer = new AbortController();
    const deadline = this.#deadlineError(operation, key);
    this.#clock.sleep(this.#deadlineMs, timer.signal).then(
      () => end.abort(deadline),
      () => undefined,
    );
    try {
      return await this.#attemptUntil(end.signal, deadline, attempt);
    } finally {
      timer.abort();
      stopListening();
    }
  }

  async #attemptUntil<T>(
    end: AbortSignal,
    deadline: TieredError,
    attempt: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    /**
     * Returns why the tries are over: the caller's own reason, or our deadline with the failures until then.
     */
    const ended = (last: unknown, made: number): unknown =>
      end.reason === deadline ? this.#late(deadline, last, made) : end.reason;
    let bound = Math.min(this.#baseDelayMs, this.#maxDelayMs);
    let last: unknown;
    for (let made = 1; ; made++) {
      try {
        end.throwIfAborted();
        return await attempt(end);
      } catch (error) {
        if (end.aborted) throw ended(error === end.reason ? last : error, made);
        if (!isTieredError(error) || !error.retryable) throw error;
        if (made >= this.#attempts) throw this.#exhausted(error, made);
        last = error;
      }
      try {
        await this.#clock.sleep(this.#random.unit() * bound, end);
      } catch {
        throw ended(last, made);
      }
      bound = Math.min(this.#maxDelayMs, bound * 2);
    }
  }

  #deadlineError(operation: string, key: string): TieredError {
    return new TieredError(
      'TIERED_DEADLINE',
      `${this.name}: ${operation} of ${JSON.stringify(key)} did not succeed within ${this.#deadlineMs} ms (deadlineMs).`,
      { driver: this.name, operation, key },
    );
  }

  #late(
    { code, message, driver, operation, key }: TieredError,
    cause: unknown,
    attempts: number,
  ): TieredError {
    const most = this.#attempts === Infinity ? 'without a bound' : `at most ${this.#attempts}`;
    const text = `${message} Tried ${attempts} times (attempts: ${most}); a longer deadlineMs survives a longer outage.`;
    return new TieredError(code, text, { driver, operation, key, cause, attempts });
  }

  #exhausted(error: TieredError, attempts: number): TieredError {
    const { code, message, key, driver, operation } = error;
    const text =
      `${message} Tried ${attempts} times (attempts), which ended before the deadline (deadlineMs: ${this.#deadlineMs}); ` +
      'raise attempts, or leave it out.';
    return new TieredError(code, text, { cause: error, retryable: false, attempts, key, driver, operation });
  }
}
