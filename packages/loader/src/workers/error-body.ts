import { ERROR_CODES, isTieredError, TieredError, type ErrorCode } from '@tiered/core';
import type { ErrorBody } from './messages.js';

/** An error as it can be sent. Its cause is sent as it is if it can be, else as text. */
export function errorBody(error: unknown): ErrorBody {
  if (!isTieredError(error))
    return { code: undefined, message: String(error), key: undefined, cause: sendable(error) };
  const { code, message, key, cause } = error;
  return { code, message, key, cause: cause === undefined ? undefined : sendable(cause) };
}

/** The error that was sent. */
export function errorFrom({ code, message, key, cause }: ErrorBody): unknown {
  if (code === undefined || !Object.hasOwn(ERROR_CODES, code))
    return cause instanceof Error ? cause : new Error(message);
  return new TieredError(code as ErrorCode, message, { key, cause });
}

function sendable(value: unknown): unknown {
  try {
    return structuredClone(value);
  } catch {
    return new Error(String(value));
  }
}
