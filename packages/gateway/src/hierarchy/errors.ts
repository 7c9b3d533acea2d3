import { isTieredError } from '@tiered/core';
import { accessDenied, S3Error } from '../protocol/s3-error.js';

/** Codes of keys that no object can have. */
const NO_OBJECT = ['TIERED_NOT_FOUND', 'TIERED_KEY_INVALID', 'TIERED_KEY_CONFLICT'] as const;

/** Whether an error says that there is no such object. */
export function saysNotFound(error: unknown): boolean {
  return NO_OBJECT.some((code) => isTieredError(error, code));
}

/**
 * The answer to what a hierarchy fails with. What may succeed if it is asked again is 503 `SlowDown`, which
 * clients repeat after a pause. The answer does not say what is wrong with the storage behind: the log does.
 */
export function storageError(error: unknown): unknown {
  if (error instanceof S3Error || !isTieredError(error)) return error;
  if (error.code === 'TIERED_PERMISSION') return accessDenied('The source refuses access to this object.');
  if (error.code === 'TIERED_CLOSED' || error.code === 'TIERED_NOT_OPEN')
    return new S3Error(503, 'ServiceUnavailable', 'The endpoint is about to stop.', { cause: error });
  if (error.retryable || error.code === 'TIERED_SOURCE_CHANGED')
    return new S3Error(503, 'SlowDown', 'The source does not answer as it should. Try again.', {
      cause: error,
    });
  return new S3Error(500, 'InternalError', 'The object cannot be read from the source.', { cause: error });
}

/** Makes the error of what a client takes only from a tier, and no tier has. */
export function notCached(): S3Error {
  return new S3Error(504, 'GatewayTimeout', 'The object is on no tier, and cache-control is only-if-cached.');
}

/** Makes the error of a listing where not all objects are known. */
export function noListing(): S3Error {
  return new S3Error(
    501,
    'NotImplemented',
    'This bucket cannot be listed, because its hierarchy does not scan its source (scan: false).',
  );
}

/** Makes the error of an object that has changed since it was described. */
export function objectChanged(): S3Error {
  return new S3Error(503, 'SlowDown', 'The object has just changed in the source. Try again.');
}
