import { S3Error } from './s3-error.js';

/** Bytes of an object, from `start` to `end`, both included. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/**
 * Returns the range that a Range header asks for. Undefined means the whole object. As in S3, a header that
 * is not one well-formed range is ignored.
 * @throws S3Error 416 `InvalidRange` for a range without a byte in the object.
 */
export function parseRange(header: string | undefined, size: number): Range | undefined {
  const match = header === undefined ? null : /^bytes=(\d*)-(\d*)$/.exec(header.trim());
  if (match === null) return undefined;
  const [, first = '', last = ''] = match;
  if (first === '' && last === '') return undefined;
  const range =
    first === ''
      ? { start: Math.max(0, size - Number(last)), end: size - 1 }
      : { start: Number(first), end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
  if (first !== '' && last !== '' && Number(first) > Number(last)) return undefined;
  if (range.start >= size) throw invalidRange(header ?? '', size);
  return range;
}

/** Returns the number of bytes in a range. */
export function lengthOf({ start, end }: Range): number {
  return end - start + 1;
}

/** Formats a Content-Range header. */
export function contentRange({ start, end }: Range, size: number): string {
  return `bytes ${start}-${end}/${size}`;
}

/** Makes the error of a range without a byte in the object. */
export function invalidRange(asked: string, size: number): S3Error {
  return new S3Error(416, 'InvalidRange', 'The requested range is not satisfiable', {
    headers: ['Content-Range', `bytes */${size}`],
    elements: { RangeRequested: asked, ActualObjectSize: size },
  });
}
