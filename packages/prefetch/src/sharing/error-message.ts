import { isTieredError, TieredError, type ErrorCode } from '@tiered/core';

/** An error on its way to another thread or process: without its cause, which may hold anything. */
export interface ErrorMessage {
  readonly code: ErrorCode | undefined;
  readonly message: string;
  readonly retryable: boolean;
  readonly key: string | undefined;
}

/** What is told of an error elsewhere. */
export function toMessage(error: unknown): ErrorMessage {
  if (isTieredError(error)) {
    const { code, message, retryable, key } = error;
    return { code, message, retryable, key };
  }
  const message = error instanceof Error ? error.message : 'The prefetcher failed.';
  return { code: undefined, message, retryable: false, key: undefined };
}

/** The error again; one that was none of ours is `TIERED_IO`. */
export function fromMessage({ code = 'TIERED_IO', message, retryable, key }: ErrorMessage): TieredError {
  return new TieredError(code, message, { retryable, ...(key !== undefined && { key }) });
}
