import type { ErrorCode } from '@tiered/core';

/** Details of a request that failed. */
export interface FailureDetails {
  readonly status?: number | undefined;
  readonly code: string;
  readonly requestId?: string | undefined;
  /** The error code if retries do not help. */
  readonly means: ErrorCode;
  /** Advice for the user. */
  readonly advice: string;
  readonly retryable?: boolean | undefined;
  /** Whether the server asks for fewer requests. */
  readonly slowDown?: boolean | undefined;
  /** Milliseconds to wait before a retry. */
  readonly retryAfterMs?: number | undefined;
  /** The server's time, in milliseconds since 1970. */
  readonly serverTimeMs?: number | undefined;
}

/**
 * A request that failed. Only used inside the driver: errors that leave the driver are `TieredError`s, see
 * `explained`.
 */
export class Failure extends Error {
  readonly details: FailureDetails;
  /** Requests made for the operation. */
  attempts = 1;
  /** Whether the deadline ended the attempts. */
  outOfTime = false;
  /**
   * The option that ended the attempts, and advice about it. Undefined if no other attempt would have helped.
   */
  gaveUp: string | undefined;

  constructor(details: FailureDetails) {
    super(details.code);
    this.details = details;
  }
}

/** The object is not the one that the read began with, or that was requested. */
export function changed(status?: number): Failure {
  return new Failure({ status, code: 'PreconditionFailed', means: 'TIERED_SOURCE_CHANGED', advice: '' });
}

/** An answer that contradicts the request, or itself. */
export function wrongAnswer(status: number, code: string, advice: string, retryable = true): Failure {
  return new Failure({ status, code, means: 'TIERED_DATA_CORRUPT', advice, retryable });
}

/** A request that broke without an answer that explains it. Another attempt may succeed. */
export function broken(code: string, advice: string): Failure {
  return new Failure({ code, means: 'TIERED_IO', advice, retryable: true });
}

/** Errors of TLS, of the request itself and of closing. A retry would not help. */
const LASTING =
  /^ERR_(TLS|SSL)|CERT|SELF_SIGNED|UNABLE_TO|UND_ERR_(INVALID_ARG|NOT_SUPPORTED|DESTROYED|CLOSED)/;

/** A connection that could not be opened, broke, or went silent. */
export function connectionFailure(error: Error): Failure {
  const code = (error as NodeJS.ErrnoException).code ?? error.name;
  const lasting = LASTING.test(code);
  const advice = lasting
    ? 'no such connection can be made; check endpoint, proxy and certificates'
    : 'the connection failed; check the endpoint and the network';
  return new Failure({ code, means: 'TIERED_IO', retryable: !lasting, advice });
}
