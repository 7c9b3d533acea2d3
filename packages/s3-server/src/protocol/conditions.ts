import type { IncomingHttpHeaders } from 'node:http';
import { isWeak, type StoredObject } from '../storage.js';
import { noSuchKey, S3Error } from './s3-error.js';

/**
 * Checks If-Match and If-None-Match of a read.
 * @throws S3Error 412 `PreconditionFailed`; 304, which is no error and has no body.
 */
export function checkRead(headers: IncomingHttpHeaders, object: StoredObject): void {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers;
  if (match !== undefined && !names(match, object.etag, 'strongly')) throw preconditionFailed('If-Match');
  if (noneMatch !== undefined && names(noneMatch, object.etag, 'weakly')) {
    throw new S3Error(304, 'NotModified', 'Not Modified', { headers: object.headers });
  }
}

/**
 * Checks If-Match and If-None-Match of a write.
 * @throws S3Error 412 `PreconditionFailed`; `NoSuchKey`; `NotImplemented` for what S3 does not accept.
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

/** Whether a header names an ETag. In a strong comparison weak ETags never match. */
function names(header: string, etag: string, how: 'strongly' | 'weakly'): boolean {
  const items = header.split(',').map((item) => item.trim());
  if (items.includes('*')) return true;
  if (how === 'strongly' && isWeak(etag)) return false;
  const [own, ...given] = [etag, ...items].map((text) => text.replace(/^W\/(?=")/, '').replaceAll('"', ''));
  return items.some((item, i) => given[i] === own && !(how === 'strongly' && isWeak(item)));
}

function preconditionFailed(condition: string): S3Error {
  return new S3Error(
    412,
    'PreconditionFailed',
    'At least one of the pre-conditions you specified did not hold',
    {
      elements: { Condition: condition },
    },
  );
}
