import type { Clock, Random } from '@tiered/core';
import { Failure } from './failure.js';
import type { AdaptiveLimiter } from './limiter.js';

/** How requests are retried. */
export interface RetryOptions {
  /** Most attempts, under the present conditions. */
  readonly mostAttempts: () => number;
  /** Milliseconds that progress may be behind the least rate. */
  readonly deadlineMs: number;
  readonly leastBytesPerSecond: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly limiter: AdaptiveLimiter;
}

/** Passed to an attempt. */
export interface Tries {
  /**
   * Reports bytes that have arrived and will not be fetched again. Attempts are counted from zero again, and
   * the deadline moves by the time that these bytes take at the least rate. It is never more than
   * `deadlineMs` away.
   */
  progress(bytes: number): void;
}

/**
 * Upper bound of the first pause, which doubles with each attempt. A busy server is still busy after less
 * than a tenth of a second.
 */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Makes an operation's attempts, each in its turn at the limiter. Pauses are drawn uniformly from 0 to a
 * bound (full jitter), or last as long as the server asks for. A pause holds no turn, and the wait for a turn
 * does not count towards the deadline.
 */
export async function withRetries<T>(
  options: RetryOptions,
  signal: AbortSignal | undefined,
  attempt: (tries: Tries) => Promise<T>,
): Promise<T> {
  const { mostAttempts, deadlineMs, leastBytesPerSecond, clock, random, limiter } = options;
  let failed = 0;
  let since = clock.now();
  const tries: Tries = {
    progress: (bytes) => {
      failed = 0;
      since = Math.min(clock.now(), since + (bytes / leastBytesPerSecond) * 1000);
    },
  };
  for (let made = 1; ; made++) {
    const queued = clock.now();
    let failure: Failure;
    try {
      return await limiter.run(signal, () => {
        since += clock.now() - queued;
        return attempt(tries);
      });
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      failure = error;
    }
    signal?.throwIfAborted();
    failed += 1;
    failure.attempts = made;
    const { retryable, retryAfterMs = 0 } = failure.details;
    if (retryable !== true) throw failure;
    const attempts = mostAttempts();
    if (failed >= attempts) {
      failure.gaveUp = `attempts: ${attempts} are made, also if deadlineMs: ${deadlineMs} has room for more; raise attempts, or leave it out`;
      throw failure;
    }
    const bound = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failed - 1));
    const pause = Math.max(retryAfterMs, random.unit() * bound);
    // A pause that would end after the deadline does not start.
    if (clock.now() + pause - since >= deadlineMs) {
      failure.outOfTime = true;
      const most = attempts === Infinity ? 'without a bound' : attempts;
      failure.gaveUp = `deadlineMs: ${deadlineMs} has passed (attempts: ${most}); a longer one survives a longer outage`;
      throw failure;
    }
    await clock.sleep(pause, signal);
  }
}
