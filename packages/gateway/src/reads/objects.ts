import type { Answer } from '../protocol/answers.js';
import { checkRead } from '../protocol/conditions.js';
import { headersOf, type FoundObject } from '../protocol/found-object.js';
import { parsePartNumber } from '../protocol/part-number.js';
import { contentRange, lengthOf, parseRange, type Range } from '../protocol/ranges.js';
import type { S3Request } from '../protocol/requests.js';
import { invalidArgument, noSuchKey, S3Error } from '../protocol/s3-error.js';
import type { ReadCall } from './call.js';

/**
 * GetObject, and HeadObject, whose answer has no body. The bytes are read later: `content` says which ones.
 */
export async function getObject<Found extends FoundObject>(call: ReadCall<Found>): Promise<Answer<Found>> {
  const { request, storage, signal } = call;
  const { headers, key } = request;
  const object = await storage.stat(key, { signal, onlyIfCached: isOnlyIfCached(request) });
  if (object === undefined) throw noSuchKey(key);
  checkRead(headers, object);
  const { size } = object;
  const described = { ...object, metadata: withOverrides(object.metadata, request) };
  const part = partOf(request, size);
  const range = part?.range ?? parseRange(headers.range, size);
  if (range === undefined) {
    const asked = headers['x-amz-checksum-mode'] === 'ENABLED' ? await storage.checksumOf?.(object) : [];
    return {
      status: 200,
      headers: [...headersOf(described), ...(asked ?? []), ...(part?.headers ?? [])],
      contentLength: size,
      content: { object, range: { start: 0, end: size - 1 } },
    };
  }
  return {
    status: 206,
    headers: [...headersOf(described), 'Content-Range', contentRange(range, size), ...(part?.headers ?? [])],
    contentLength: lengthOf(range),
    content: { object, range },
  };
}

/** Whether the client refuses anything that would have to be fetched first (RFC 9111, section 5.2.1.7). */
export function isOnlyIfCached({ headers }: Pick<S3Request<string>, 'headers'>): boolean {
  return headers['cache-control']?.split(',').some((one) => one.trim() === 'only-if-cached') === true;
}

/** Headers that a query may replace, so that a presigned URL can name the file that a browser saves. */
const OVERRIDES = [
  ...['Content-Type', 'Content-Language', 'Content-Disposition', 'Content-Encoding'],
  ...['Cache-Control', 'Expires'],
];

/**
 * Replaces headers as requested in the query.
 * @throws S3Error `InvalidArgument` for a value that cannot be a header.
 */
function withOverrides(metadata: readonly string[], { query }: S3Request<string>): readonly string[] {
  if (query.size === 0) return metadata;
  const given = OVERRIDES.flatMap((name) => {
    const parameter = `response-${name.toLowerCase()}`;
    const value = query.get(parameter);
    if (value === null) return [];
    if (!/^[\x20-\x7e]*$/.test(value))
      throw invalidArgument(parameter, value, 'Header value cannot be represented');
    return [name, value];
  });
  const isKept = (_: string, index: number) =>
    !given.some(
      (name, i) => i % 2 === 0 && name.toLowerCase() === metadata[index - (index % 2)]?.toLowerCase(),
    );
  return [...metadata.filter(isKept), ...given];
}

/** An object has one part, however it was uploaded: its original parts are not known here. */
function partOf(
  { query, headers }: S3Request<string>,
  size: number,
): { readonly range: Range | undefined; readonly headers: readonly string[] } | undefined {
  const text = query.get('partNumber');
  if (text === null) return undefined;
  if (headers.range !== undefined)
    throw new S3Error(
      400,
      'InvalidRequest',
      'Cannot specify both Range header and partNumber query parameter',
    );
  const number = parsePartNumber(text);
  if (number > 1) {
    throw new S3Error(416, 'InvalidPartNumber', 'The requested partnumber is not satisfiable', {
      elements: { PartNumberRequested: number, ActualPartCount: 1 },
    });
  }
  const range = size === 0 ? undefined : { start: 0, end: size - 1 };
  return { range, headers: ['x-amz-mp-parts-count', '1'] };
}
