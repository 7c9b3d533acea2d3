import { ERROR_CODES, isTieredError, TieredError, type ErrorCode } from '@tiered/core';

/** An error as it is sent to another thread or process. The cause may be anything, so it is not sent. */
export interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  /** The object concerned, if any. */
  readonly key?: string | undefined;
}

/** Longer messages are cut and longer keys omitted, so that every error fits into a body. */
const MAX_CHARACTERS = 4096;

/** Converts an error for sending. An error that is no `TieredError` becomes `TIERED_IO`. */
export function errorBody(error: unknown): ErrorBody {
  const { code, message, retryable, key } = isTieredError(error)
    ? error
    : {
        code: 'TIERED_IO',
        message: `The prefetcher failed: ${String(error)}`,
        retryable: false,
        key: undefined,
      };
  const told = { code, message: message.slice(0, MAX_CHARACTERS).toWellFormed(), retryable };
  return key !== undefined && key.length <= MAX_CHARACTERS && key.isWellFormed() ? { ...told, key } : told;
}

/** Restores an error that was received. A code that this version does not know becomes `TIERED_IO`. */
export function errorFrom({ code, message, retryable, key }: ErrorBody): TieredError {
  const known = Object.hasOwn(ERROR_CODES, code);
  return new TieredError(known ? (code as ErrorCode) : 'TIERED_IO', known ? message : `${code}: ${message}`, {
    retryable,
    key,
  });
}
