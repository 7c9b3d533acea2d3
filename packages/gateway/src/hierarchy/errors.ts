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
 * The answer to what a hierarchy fails with. What may succeed if it is asked again is 503 `SlowDown`, which
 * clients repeat after a pause. The answer does not say what is wrong with the storage behind: the log does.
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

/** What the storage behind says of uploads, and clients have to know as it is. */
const OF_UPLOADS: Readonly<Record<string, number>> = {
  NoSuchUpload: 404,
  InvalidPart: 400,
  InvalidPartOrder: 400,
  EntityTooSmall: 400,
};

/** The answer to what a write fails with, as `storageError`. */
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

/** An object has changed since it was described. */
export class ObjectChanged extends S3Error {
  constructor(cause?: unknown) {
    super(503, 'SlowDown', 'The object has changed in the source. Try again.', { cause });
  }
}
