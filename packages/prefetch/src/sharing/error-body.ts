import { ERROR_CODES, isTieredError, TieredError, type ErrorCode } from '@tiered/core';

/** What is told of an error elsewhere: its cause may be anything, and stays where it is. */
export interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  /** The object that it concerns, if any. */
  readonly key?: string | undefined;
}

/** Longer messages are cut, and longer keys left out, so that every error fits a body. */
const MAX_CHARACTERS = 4096;

/** An error on its way to another thread or process. What is no `TieredError` becomes `TIERED_IO`. */
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

/** The error that came from there. A code that this version does not know becomes `TIERED_IO`. */
export function errorFrom({ code, message, retryable, key }: ErrorBody): TieredError {
  const known = Object.hasOwn(ERROR_CODES, code);
  return new TieredError(known ? (code as ErrorCode) : 'TIERED_IO', known ? message : `${code}: ${message}`, {
    retryable,
    key,
  });
}
