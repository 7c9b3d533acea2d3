import type { IncomingHttpHeaders } from 'node:http';
import { names, noSuchKey, preconditionFailed, S3Error } from '@tiered/gateway/internal';
import type { StoredObject } from '../storage.js';

/**
 * Checks If-Match and If-None-Match of a write.
 * @throws S3Error 412 `PreconditionFailed`; `NoSuchKey`; `NotImplemented` for conditions that S3 does not
 * accept.
 */
export function checkWrite(
  headers: IncomingHttpHeaders,
  key: string,
  object: StoredObject | undefined,
): void {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers;
  if (noneMatch !== undefined && noneMatch !== '*') {
    throw new S3Error(
      501,
      'NotImplemented',
      'A header you provided implies functionality that is not implemented',
    );
  }
  if (noneMatch !== undefined && object !== undefined) throw preconditionFailed('If-None-Match');
  if (match === undefined) return;
  if (object === undefined) throw noSuchKey(key);
  if (!names(match, object.etag, 'strongly')) throw preconditionFailed('If-Match');
}
