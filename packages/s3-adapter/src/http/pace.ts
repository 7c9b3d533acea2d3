import type { Clock } from '@tiered/core';
import { Failure } from './failure.js';

/** How fast bytes come at least. */
export interface PaceOptions {
  readonly leastBytesPerSecond: number;
  /** By how many milliseconds they may be behind; longer silence is noticed elsewhere. */
  readonly silenceMs: number;
  /** By how many more, while a server works and sends blanks to keep the connection. */
  readonly workMs: number;
  /** How many milliseconds the request itself may take to be sent. */
  readonly sendingMs: number;
  readonly clock: Clock;
}

/** Watches that the body of an answer comes at the least rate. Looks when bytes come: silence ends by itself. */
export class Pace {
  readonly #options: PaceOptions;
  #seenAt = 0;
  #behindMs = 0;

  constructor(options: PaceOptions) {
    this.#options = options;
  }

  /** The request begins now. */
  sending(): void {
    this.#seenAt = this.#options.clock.now();
  }

  /**
   * Something came that is not the answer yet (1xx). It ends the silence, so the time until the answer is bounded here.
   * @throws Failure `TooSlow` if it is over.
   */
  announced(): void {
    const { silenceMs, workMs, sendingMs, clock } = this.#options;
    if (clock.now() - this.#seenAt < silenceMs + workMs + sendingMs) return;
    const advice = 'the server announces an answer again and again, and sends none; check the endpoint';
    throw new Failure({ code: 'TooSlow', means: 'TIERED_IO', advice, retryable: true });
  }

  /** The body begins now. */
  start(): void {
    this.#seenAt = this.#options.clock.now();
  }

  /**
   * So many bytes have come.
   * @throws Failure `TooSlow` if they are too far behind the rate.
   */
  took(bytes: number): void {
    const { leastBytesPerSecond, silenceMs, workMs, clock } = this.#options;
    const now = clock.now();
    // Longer silence is this process's, which was busy: the bytes have been there.
    const passedMs = Math.min(now - this.#seenAt, silenceMs);
    this.#seenAt = now;
    this.#behindMs = Math.max(0, this.#behindMs + passedMs - (bytes / leastBytesPerSecond) * 1000);
    if (this.#behindMs < silenceMs + workMs) return;
    const advice = `the answer brings less than ${leastBytesPerSecond} bytes in a second; check the network`;
    throw new Failure({ code: 'TooSlow', means: 'TIERED_IO', advice, retryable: true });
  }
}
