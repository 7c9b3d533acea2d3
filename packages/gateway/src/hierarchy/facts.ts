import { createHash } from 'node:crypto';

/** An ETag of a bucket or of OpenDAL, in the form that their drivers use as a version. */
const ETAG = /^(?:etag )?((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")$/;

/**
 * The ETag of a version: the source's own if the version is one. Otherwise it is made from the version. It is
 * strong, as it stays the same as long as the version does. It ends like the ETag of an upload in parts, so
 * that no client takes it for an MD5 of the bytes.
 */
export function etagOf(version: string): string {
  const [, own] = ETAG.exec(version) ?? [];
  return own ?? `"${createHash('sha256').update(version).digest('hex').slice(0, 32)}-1"`;
}

/** The version of a file begins with its time, in nanoseconds in base 36. */
const OF_FILE = /^(-?[\da-z]+)-[\da-z]+-[\da-z]+$/;

/**
 * When an object was changed, in milliseconds since 1970. Only versions of files contain it: other drivers
 * know an ETag of their objects and no time.
 * @param location Location of the source.
 */
export function modifiedIn(version: string, location: string | undefined): number | undefined {
  const [, nanoseconds] = OF_FILE.exec(version) ?? [];
  if (nanoseconds === undefined || location?.startsWith('file:') !== true) return undefined;
  return Math.floor(Number.parseInt(nanoseconds, 36) / 1e6);
}
