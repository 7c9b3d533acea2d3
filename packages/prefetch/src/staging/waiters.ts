import type { Clock } from '@tiered/core';
import { onAbort } from '@tiered/core/internal';
import Denque from 'denque';
import type { Sample } from '../sample.js';

/** A consumer that asked before its sample was ready. */
export interface Waiter {
  readonly most: number;
  /** The epoch that its samples must belong to, if it matters. */
  readonly epoch: number | undefined;
  readonly resolve: (samples: readonly Sample[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Waiting consumers, in order of arrival, and how long consumers have waited. */
export class Waiters {
  readonly #clock: Clock;
  readonly #onChange: (waiting: number) => void;
  readonly #queue = new Denque<Waiter & { isGone: boolean }>();
  #waiting = 0;
  #isServing = false;
  /** Milliseconds that consumers waited, summed over them. */
  stallMs = 0;

  /** @param onChange Called with the change in the number of consumers that wait. */
  constructor(clock: Clock, onChange: (change: number) => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  /** Waiting consumers, without the one that is being served. */
  get count(): number {
    return this.#isServing ? this.#waiting - 1 : this.#waiting;
  }

  /**
   * Waits until this consumer is first and is served, or all are rejected. An aborted consumer leaves the
   * queue.
   */
  wait(wanted: Pick<Waiter, 'most' | 'epoch'>, signal: AbortSignal | undefined): Promise<readonly Sample[]> {
    return new Promise((resolve, reject) => {
      const ended = this.#begin();
      let stopListening = () => {};
      const settled = () => {
        // One that is being served may have been rejected meanwhile.
        if (waiter.isGone) return;
        waiter.isGone = true;
        stopListening();
        ended();
      };
      const waiter = {
        ...wanted,
        isGone: false,
        resolve: (samples: readonly Sample[]) => {
          settled();
          resolve(samples);
        },
        reject: (error: unknown) => {
          settled();
          reject(error);
        },
      };
      this.#queue.push(waiter);
      stopListening = onAbort(signal, (reason) => waiter.reject(reason));
    });
  }

  /** Counts a consumer as waiting until the promise settles. */
  async during<T>(promise: Promise<T>): Promise<T> {
    const ended = this.#begin();
    try {
      return await promise;
    } finally {
      ended();
    }
  }

  /**
   * Serves waiting consumers one after the other, until there is nothing for the next. `collect` may re-enter
   * this method. The consumer being served must not be served again then: it would get an end instead of its
   * sample.
   * @param collect Returns undefined if nothing is ready. If it throws, the waiting consumer gets the error.
   */
  serve(collect: (waiter: Waiter) => readonly Sample[] | undefined): void {
    if (this.#isServing) return;
    for (let waiter = this.first(); waiter !== undefined; waiter = this.first()) {
      let settle: () => void;
      this.#isServing = true;
      try {
        const samples = collect(waiter);
        if (samples === undefined) return;
        settle = () => waiter.resolve(samples);
      } catch (error) {
        settle = () => waiter.reject(error);
      } finally {
        this.#isServing = false;
      }
      settle();
    }
  }

  /** The consumer that has waited longest; undefined if none waits for the next sample. */
  first(): Waiter | undefined {
    while (this.#queue.peekFront()?.isGone === true) this.#queue.shift();
    return this.#queue.peekFront();
  }

  rejectAll(error: unknown): void {
    const waiting = this.#queue.toArray();
    this.#queue.clear();
    for (const waiter of waiting) if (!waiter.isGone) waiter.reject(error);
  }

  /** Counts one more waiting consumer. Returns a function to call when it no longer waits. */
  #begin(): () => void {
    const start = this.#clock.now();
    this.#change(1);
    return () => {
      this.#change(-1);
      this.stallMs += this.#clock.now() - start;
    };
  }

  #change(by: number): void {
    this.#waiting += by;
    this.#onChange(by);
  }
}
