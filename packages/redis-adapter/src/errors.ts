import { TieredError, type StorageDriver } from '@tiered/core';
import type { Operation } from '@tiered/core/driver';
import { codeOf, meaningOf, type Failure } from './connection/failures.js';

/**
 * An error of Redis, or of the connection to it: the `cause` of the driver's errors. Contains no password,
 * even if a server repeats what it was sent.
 */
export class RedisError extends Error {
  override readonly name = 'RedisError';
  /**
   * The first word of the server's error, such as `OOM`, or the connection's error code, such as
   * `ECONNRESET`.
   */
  readonly code: string;

  /** @param message Without secrets. */
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The place of a failure, and the secrets to hide. */
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
  // A server that does not support AUTH repeats its arguments.
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
