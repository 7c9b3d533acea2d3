import type { Clock } from '@tiered/core';
import { broken } from './failure.js';

/** Options of `Pace`. */
export interface PaceOptions {
  readonly leastBytesPerSecond: number;
  /** Milliseconds that bytes may be late. Longer silence is noticed elsewhere. */
  readonly silenceMs: number;
  /** Additional milliseconds while a server works and sends blanks to keep the connection open. */
  readonly workMs: number;
  /** Milliseconds that sending the request itself may take. */
  readonly sendingMs: number;
  readonly clock: Clock;
}

/**
 * Checks that the body of an answer arrives at the given rate or faster. Checks when bytes arrive: silence
 * has a timeout of its own.
 */
export class Pace {
  readonly #options: PaceOptions;
  #seenAt = 0;
  #behindMs = 0;

  constructor(options: PaceOptions) {
    this.#options = options;
  }

  /** Marks the beginning of the request, or of its answer's body. */
  start(): void {
    this.#seenAt = this.#options.clock.now();
  }

  /**
   * Handles an interim answer (1xx). It resets the timeout for silence, so this limits the time until the
   * answer.
   * @throws Failure `TooSlow` if that time is over.
   */
  announced(): void {
    const { silenceMs, workMs, sendingMs, clock } = this.#options;
    if (clock.now() - this.#seenAt < silenceMs + workMs + sendingMs) return;
    const advice = 'the server keeps announcing an answer, and sends none; check the endpoint';
    throw broken('TooSlow', advice);
  }

  /**
   * Counts bytes that have arrived.
   * @throws Failure `TooSlow` if they are too far behind the rate.
   */
  took(bytes: number): void {
    const { leastBytesPerSecond, silenceMs, workMs, clock } = this.#options;
    const now = clock.now();
    // This process caused any longer silence by being busy: the bytes were there.
    const passedMs = Math.min(now - this.#seenAt, silenceMs);
    this.#seenAt = now;
    this.#behindMs = Math.max(0, this.#behindMs + passedMs - (bytes / leastBytesPerSecond) * 1000);
    if (this.#behindMs < silenceMs + workMs) return;
    const advice = `the answer brings less than ${leastBytesPerSecond} bytes in a second; check the network`;
    throw broken('TooSlow', advice);
  }
}
