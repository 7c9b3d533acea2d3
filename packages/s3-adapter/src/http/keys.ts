import { TieredError } from '@tiered/core';

const LONGEST_KEY_BYTES = 1024;
const PLAIN = /^[\w.~/-]*$/;

/**
 * The path of a key in a request: every byte except letters, digits and `- . _ ~ /` as `%XX`. Segments that
 * are empty, `.` or `..` stay unchanged: S3 treats them like any other characters.
 */
export function encodeKey(key: string): string {
  if (PLAIN.test(key)) return key;
  return encodeText(key).replaceAll('%2F', '/');
}

/** The query of a request, in the order used for signing. */
export function encodeQuery(query: Readonly<Record<string, string>>): string {
  return Object.entries(query)
    .map(([name, value]) => `${encodeText(name)}=${encodeText(value)}`)
    .sort()
    .join('&');
}

function encodeText(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * Checks the length of a key.
 * @param objectKey The key in the bucket.
 * @param key The key as the driver's caller knows it.
 * @throws TieredError `TIERED_KEY_INVALID` if it is longer than S3 allows.
 */
export function assertKeyFits(objectKey: string, key: string, driver: string): void {
  // UTF-8 takes at most three bytes for each unit of UTF-16.
  if (objectKey.length * 3 <= LONGEST_KEY_BYTES || Buffer.byteLength(objectKey) <= LONGEST_KEY_BYTES) return;
  throw new TieredError(
    'TIERED_KEY_INVALID',
    `${driver}: the key ${JSON.stringify(key)} is longer than ${LONGEST_KEY_BYTES} bytes, which S3 does not allow.`,
    { driver, key },
  );
}

/** Compares keys in the order of S3: by the bytes of their UTF-8. */
export function compareKeys(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
