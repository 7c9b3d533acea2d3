import { isTieredError } from '@tiered/core';
import { preconditionFailed } from '../protocol/conditions.js';
import { accessDenied, S3Error } from '../protocol/s3-error.js';

/** Codes of keys that no object can have. */
const NO_OBJECT = ['TIERED_NOT_FOUND', 'TIERED_KEY_INVALID', 'TIERED_KEY_CONFLICT'] as const;

/** Whether an error says that there is no such object. */
export function saysNotFound(error: unknown): boolean {
  return NO_OBJECT.some((code) => isTieredError(error, code));
}

/**
 * Turns an error of a hierarchy into an answer. An error that a repeated request may not meet becomes 503
 * `SlowDown`, which clients retry after a pause. The answer does not say what is wrong with the storage
 * behind. The log does.
 */
export function storageError(error: unknown): unknown {
  if (error instanceof S3Error || !isTieredError(error)) return error;
  if (error.code === 'TIERED_PERMISSION') return accessDenied('The source refuses access to this object.');
  if (error.code === 'TIERED_CLOSED' || error.code === 'TIERED_NOT_OPEN')
    return new S3Error(503, 'ServiceUnavailable', 'The endpoint is about to stop.', { cause: error });
  if (error.code === 'TIERED_SOURCE_CHANGED') return new ObjectChanged(error);
  if (error.retryable)
    return new S3Error(503, 'SlowDown', 'The source does not answer as it should. Try again.', {
      cause: error,
    });
  return new S3Error(500, 'InternalError', 'The source has failed. The log says how.', { cause: error });
}

/** Errors of uploads that the storage behind reports and that clients have to see unchanged. */
const OF_UPLOADS: Readonly<Record<string, number>> = {
  NoSuchUpload: 404,
  InvalidPart: 400,
  InvalidPartOrder: 400,
  EntityTooSmall: 400,
};

/** Turns an error of a write into an answer, like `storageError`. */
export function writeError(error: unknown): unknown {
  if (error instanceof S3Error || !isTieredError(error)) return error;
  const { code: said = '' } = (error.cause ?? {}) as { readonly code?: string };
  const status = Object.hasOwn(OF_UPLOADS, said) ? OF_UPLOADS[said] : undefined;
  if (status !== undefined)
    return new S3Error(status, said, 'The storage behind refuses the upload.', { cause: error });
  const { code } = error;
  if (code === 'TIERED_EXISTS') return preconditionFailed('If-None-Match');
  if (code === 'TIERED_PERMISSION') return accessDenied('The source refuses to have this object changed.');
  if (code === 'TIERED_KEY_INVALID')
    return new S3Error(400, 'KeyTooLongError', 'The storage behind takes no such key.', { cause: error });
  if (code === 'TIERED_UNSUPPORTED')
    return new S3Error(501, 'NotImplemented', 'The storage behind does not support this write.', {
      cause: error,
    });
  return storageError(error);
}

/** Makes the error for an object that the client takes only from a tier, and that no tier has. */
export function notCached(): S3Error {
  return new S3Error(504, 'GatewayTimeout', 'The object is on no tier, and cache-control is only-if-cached.');
}

/** Makes the error of a listing when not all objects are known. */
export function noListing(): S3Error {
  return new S3Error(
    501,
    'NotImplemented',
    'This bucket cannot be listed, because its hierarchy does not scan its source (scan: false).',
  );
}

/** An object has changed since it was described. */
export class ObjectChanged extends S3Error {
  constructor(cause?: unknown) {
    super(503, 'SlowDown', 'The object has changed in the source. Try again.', { cause });
  }
}
