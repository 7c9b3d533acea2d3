import { TieredError, type StorageDriver } from '@tiered/core';
import type { Operation } from '@tiered/core/driver';
import { codeOf, meaningOf, type Failure } from './connection/failures.js';

/**
 * What Redis, or the connection to it, said: the `cause` of the driver's errors. Holds no password, also
 * where a server repeats what it was sent.
 */
export class RedisError extends Error {
  override readonly name = 'RedisError';
  /** The first word of what the server said, such as `OOM`, or the code of the connection, `ECONNRESET`. */
  readonly code: string;

  /** @param message Without secrets. */
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Where a failure happened, and what must not be shown. */
export interface Place {
  readonly driver: StorageDriver;
  readonly operation: Operation;
  readonly key: string | undefined;
  readonly secrets: readonly string[];
}

/** Translates a failure into an error of the SDK. */
export function explained(
  { cause: error }: Failure,
  { driver, operation, key, secrets }: Place,
): TieredError {
  const { code, advice, retryable } = meaningOf(error);
  const word = codeOf(error);
  // A server that does not know AUTH repeats its arguments.
  let said = error instanceof Error ? error.message : String(error);
  for (const secret of secrets) said = said.replaceAll(secret, '***');
  const object = key === undefined ? '' : ` of ${JSON.stringify(key)}`;
  return new TieredError(code, `${driver.name}: ${operation}${object} failed: ${advice} (${word}).`, {
    cause: new RedisError(word, said),
    retryable,
    driver: driver.name,
    operation,
    key,
  });
}
