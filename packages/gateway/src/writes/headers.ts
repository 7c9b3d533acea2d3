import type { IncomingHttpHeaders } from 'node:http';
import { missingLength } from '../protocol/received-body.js';
import { notImplemented } from '../protocol/s3-error.js';

/**
 * Headers of writes that ask for more than bytes under a key. The storage could not honour them, so they must
 * not be ignored silently.
 */
const UNKNOWN =
  /^x-amz-(grant-|tagging|server-side-encryption|object-lock|website-redirect|write-offset)|^if-match$/;

/** Headers that are accepted with these values, which change nothing. */
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  'x-amz-acl': ['private', 'bucket-owner-full-control'],
  'x-amz-storage-class': ['STANDARD'],
  'if-none-match': ['*'],
};

/**
 * Checks the headers of a write.
 * @throws S3Error 501 `NotImplemented` for a header that cannot be honoured.
 */
export function assertPlain(headers: IncomingHttpHeaders): void {
  for (const [name, value] of Object.entries(headers)) {
    const isKnown = KNOWN[name]?.includes(String(value));
    if (isKnown === false || UNKNOWN.test(name)) throw notImplemented(`the header ${name}`);
  }
}

/**
 * Checks the length of what is to be stored.
 * @throws S3Error 411 `MissingContentLength`.
 */
export function assertLength(headers: IncomingHttpHeaders): void {
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined)
    throw missingLength();
}
