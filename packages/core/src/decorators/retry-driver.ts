import { onAbort } from '../support/abort.js';
import { systemClock, type Clock } from '../support/clock.js';
import type { ListOptions, ObjectStat, StorageDriver } from '../driver/driver.js';
import { assertCounts, configError, isTieredError, TieredError } from '../support/errors.js';
import { Random } from '../support/random.js';
import { InterceptingDriver, type DriverCall } from './intercepting-driver.js';

/** Options of `RetryDriver`. */
export interface RetryDriverOptions {
  /**
   * Tries at most, the first included. Default: as many as the deadline has room for, so that one option says how long
   * to wait.
   */
  readonly attempts?: number | undefined;
  /** Upper bound of the first pause in milliseconds; doubles with each try. Default: 50. */
  readonly baseDelayMs?: number | undefined;
  /** Upper bound of every pause in milliseconds. Default: 5,000. */
  readonly maxDelayMs?: number | undefined;
  /**
   * Milliseconds for all tries of an operation together; a try that runs into it is aborted. Default: 60,000, longer
   * than any healthy read and short enough to be noticed. 600,000 survives an outage of ten minutes.
   */
  readonly deadlineMs?: number | undefined;
  /** Seeds the jitter, so that a run can be repeated. Default: 0. */
  readonly seed?: number | undefined;
  /** Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
}

/**
 * Makes an operation again when its error says `retryable`, after a pause drawn uniformly from 0 to the bound of that
 * try (full jitter, so that clients that failed together do not come back together).
 *
 * When the deadline passes, `TIERED_DEADLINE` is thrown with `attempts` and the last error as its cause; when tries are
 * used up that were limited, the last error again, with its code, `attempts`, and `retryable: false`. Both name the two
 * options. A write whose pieces come only once, and the `publish` of an object written in parts, pass as they are,
 * without tries and without a deadline; a listing begins again only until it has given a page.
 *
 * **Order.** Outside `LimitDriver`, `ThrottleDriver` and `FaultDriver`. A `RetryDriver` inside another multiplies
 * the tries; use one.
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
    for (const [field, ms] of Object.entries({ baseDelayMs, maxDelayMs, deadlineMs })) {
      if (!(ms > 0 && ms < Infinity)) throw configError(field, 'milliseconds of more than 0', ms);
    }
    this.#attempts = attempts ?? Infinity;
    this.#baseDelayMs = baseDelayMs;
    this.#maxDelayMs = maxDelayMs;
    this.#deadlineMs = deadlineMs;
    this.#random = new Random(options.seed ?? 0);
    this.#clock = options.clock ?? systemClock;
  }

  /** Begins again only as long as no page was given: a page that was given cannot be taken back. */
  override async *list({
    prefix,
    signal,
  }: ListOptions): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    let pages: AsyncIterator<readonly ObjectStat[]> | undefined;
    // The listing outlives the tries for its first page: it ends with their deadline, or with the caller's signal.
    const end = new AbortController();
    const stopListening = onAbort(signal, (reason) => end.abort(reason));
    const first = (attempt: AbortSignal) => {
      onAbort(attempt, (reason) => end.abort(reason));
      pages = this.inner.list({ prefix, signal: end.signal })[Symbol.asyncIterator]();
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
    /** Why it is over: the caller's own reason as it is, or our deadline with what went wrong until then. */
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
