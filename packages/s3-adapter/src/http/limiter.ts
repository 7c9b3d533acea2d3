import { limited } from '@tiered/core/internal';
import pLimit, { type LimitFunction } from 'p-limit';
import { Failure } from './failure.js';

/**
 * Limits the requests in flight, and finds out how many the server can take. The limit halves whenever the
 * server asks to slow down, and grows by one after as many successes as the limit. Waiting requests go in
 * order of arrival.
 */
export class AdaptiveLimiter {
  readonly #most: number;
  readonly #limit: LimitFunction;
  #successes = 0;
  /** Counts the halvings, so that the requests of one burst halve once. */
  #generation = 0;

  /** @param most Limit on concurrent requests: the initial one, and the highest. */
  constructor(most: number) {
    this.#most = most;
    this.#limit = pLimit(most);
  }

  /** The current limit on concurrent requests. */
  get concurrency(): number {
    return this.#limit.concurrency;
  }

  /** Runs a request in its turn. An abort rejects at once while it waits, and waits for it while it runs. */
  run<T>(signal: AbortSignal | undefined, request: () => Promise<T>): Promise<T> {
    return limited(this.#limit, signal, () => this.#observed(request));
  }

  async #observed<T>(request: () => Promise<T>): Promise<T> {
    const generation = this.#generation;
    try {
      const result = await request();
      this.#succeeded();
      return result;
    } catch (error) {
      if (error instanceof Failure && error.details.slowDown === true) this.#slowDown(generation);
      throw error;
    }
  }

  #succeeded(): void {
    if (this.#limit.concurrency >= this.#most) return;
    this.#successes += 1;
    if (this.#successes < this.#limit.concurrency) return;
    this.#successes = 0;
    this.#limit.concurrency += 1;
  }

  #slowDown(generation: number): void {
    if (generation !== this.#generation) return;
    this.#generation += 1;
    this.#successes = 0;
    this.#limit.concurrency = Math.max(1, Math.floor(this.#limit.concurrency / 2));
  }
}
