import type { IncomingHttpHeaders } from 'node:http';
import { headersOf, type FoundObject } from './found-object.js';
import { S3Error } from './s3-error.js';

/**
 * Checks the conditions of a read. As in RFC 9110, If-Match takes precedence over If-Unmodified-Since, and
 * If-None-Match over If-Modified-Since. The two dates are ignored if the object's time is not known.
 * @throws S3Error 412 `PreconditionFailed`; 304, which is no error and has no body.
 */
export function checkRead(headers: IncomingHttpHeaders, object: FoundObject): void {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers;
  const isChanged = (name: 'if-modified-since' | 'if-unmodified-since') =>
    isModifiedSince(headers[name], object);
  if (match === undefined) {
    if (isChanged('if-unmodified-since') === true) throw preconditionFailed('If-Unmodified-Since');
  } else if (!names(match, object.etag, 'strongly')) {
    throw preconditionFailed('If-Match');
  }
  const isKnown =
    noneMatch === undefined
      ? isChanged('if-modified-since') === false
      : names(noneMatch, object.etag, 'weakly');
  if (isKnown) throw new S3Error(304, 'NotModified', 'Not Modified', { headers: headersOf(object) });
}

/** Whether a header names an ETag. Weak ETags never match in a strong comparison. */
export function names(header: string, etag: string, how: 'strongly' | 'weakly'): boolean {
  const items = header.split(',').map((item) => item.trim());
  if (items.includes('*')) return true;
  if (how === 'strongly' && isWeak(etag)) return false;
  const [own, ...given] = [etag, ...items].map((text) => text.replace(/^W\/(?=")/, '').replaceAll('"', ''));
  return items.some((item, i) => given[i] === own && !(how === 'strongly' && isWeak(item)));
}

/** Makes the error of a condition that does not hold. */
export function preconditionFailed(condition: string): S3Error {
  return new S3Error(
    412,
    'PreconditionFailed',
    'At least one of the pre-conditions you specified did not hold',
    {
      elements: { Condition: condition },
    },
  );
}

/** Whether an ETag is weak: two objects with the same weak ETag may differ in their bytes. */
function isWeak(etag: string): boolean {
  return etag.startsWith('W/');
}

/** Undefined if the header or the object has no usable time. Headers have whole seconds. */
function isModifiedSince(header: string | undefined, { lastModified }: FoundObject): boolean | undefined {
  const since = header === undefined ? NaN : new Date(header).getTime();
  if (lastModified === undefined || Number.isNaN(since)) return undefined;
  return Math.floor(lastModified / 1000) > Math.floor(since / 1000);
}
