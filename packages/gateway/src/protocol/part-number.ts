import { invalidArgument } from './s3-error.js';

/** The most parts of an object, as in S3. */
export const MOST_PARTS = 10_000;

/**
 * Parses the number of a part from a query.
 * @throws S3Error 400 `InvalidArgument`.
 */
export function parsePartNumber(text: string): number {
  const number = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= MOST_PARTS) return number;
  throw invalidArgument(
    'partNumber',
    text,
    `Part number must be an integer between 1 and ${MOST_PARTS}, inclusive`,
  );
}
