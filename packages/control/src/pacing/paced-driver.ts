import type { Clock } from '@tiered/core';
import {
  InterceptingDriver,
  type DriverCall,
  type OperationOptions,
  type ReadOutcome,
  type ReadRequest,
  type StorageDriver,
} from '@tiered/core/driver';
import type { Pace, PacedRequest } from './pace.js';

/**
 * A source limited to a stage's share. All requests except `open` wait for the share: reads for operations
 * and bytes, others for an operation, batches for all of theirs. Requests that a caller waits for come first.
 * Requests are not split: one is admitted as a whole, and the next waits until the excess over the share is
 * made up.
 *
 * An abort ends the wait at once. Costs three reads of the clock for each request while nothing waits.
 */
export class PacedDriver extends InterceptingDriver {
  readonly #pace: Pace;
  readonly #clock: Clock;

  constructor(inner: StorageDriver, pace: Pace, clock: Clock) {
    super(inner);
    this.#pace = pace;
    this.#clock = clock;
  }

  override readMany(
    requests: readonly ReadRequest[],
    options: OperationOptions,
  ): Promise<readonly ReadOutcome[]> {
    const bytes = requests.reduce((sum, { target }) => sum + target.byteLength, 0);
    return this.#paced(
      { bytes, operations: requests.length },
      options.signal,
      () => this.inner.readMany(requests, options),
      (outcomes) => outcomes.reduce((sum, outcome) => sum + ('bytes' in outcome ? outcome.bytes : 0), 0),
      // An abort while they wait is the outcome of each: batches do not reject.
    ).catch((error: unknown) => requests.map(() => ({ error })));
  }

  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    if (call.operation === 'open') return call.proceed();
    const { mostBytes: bytes, isWaitedFor, signal, moved } = call;
    return this.#paced({ bytes, operations: 1, isWaitedFor }, signal, () => call.proceed(), moved);
  }

  async #paced<T>(
    request: PacedRequest,
    signal: AbortSignal | undefined,
    proceed: () => Promise<T>,
    movedBy: (result: T) => number,
  ): Promise<T> {
    const turn = this.#pace.admit(request, signal);
    if (turn !== undefined) await turn;
    const start = this.#clock.now();
    let moved = 0;
    try {
      const result = await proceed();
      moved = movedBy(result);
      return result;
    } finally {
      this.#pace.ended(request, moved, this.#clock.now() - start);
    }
  }
}
