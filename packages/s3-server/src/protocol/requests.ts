import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Storage } from '../storage.js';
import { S3Error } from './s3-error.js';

/**
 * The operations that the server knows. Each is chosen by the method, by what it works on, and by a part of
 * the query.
 */
const OPERATIONS = {
  'HEAD bucket': 'HeadBucket',
  'GET bucket?list-type': 'ListObjectsV2',
  'POST bucket?delete': 'DeleteObjects',
  'GET object': 'GetObject',
  'HEAD object': 'HeadObject',
  'PUT object': 'PutObject',
  'DELETE object': 'DeleteObject',
  'POST object?uploads': 'CreateMultipartUpload',
  'PUT object?uploadId': 'UploadPart',
  'POST object?uploadId': 'CompleteMultipartUpload',
  'DELETE object?uploadId': 'AbortMultipartUpload',
} as const;

/** Name of an operation in S3's API. */
export type S3Operation = (typeof OPERATIONS)[keyof typeof OPERATIONS];

/** Every operation. */
export const S3_OPERATIONS: readonly S3Operation[] = Object.values(OPERATIONS);

/**
 * Parameters of a query that choose another operation, including operations that this server does not know.
 */
const SELECTORS = [
  'uploadId',
  'uploads',
  'list-type',
  'delete',
  ...['acl', 'attributes', 'cors', 'lifecycle', 'location', 'partNumber', 'policy', 'restore', 'select'],
  ...['retention', 'tagging', 'torrent', 'versionId', 'versioning', 'versions', 'website'],
];

/** A request as S3 understands it. */
export interface S3Request {
  readonly operation: S3Operation;
  readonly method: string;
  readonly bucket: string;
  /** Empty for operations on a bucket. */
  readonly key: string;
  /** The path of the request line, percent-encoded in the one way that is signed. */
  readonly canonicalPath: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
}

/** A request with its body, after the body was checked. */
export interface S3RequestWithBody extends S3Request {
  readonly body: Uint8Array;
  /** Checksums that came with the body, by algorithm, in headers or after it. All of them match. */
  readonly checksums: ReadonlyMap<string, string>;
}

const NO_QUERY = new URLSearchParams();

/**
 * Parses a request. Nothing in its path is normalised: `//`, `.` and `..` are parts of keys.
 * @throws S3Error `InvalidURI` for what is not UTF-8; 501 `NotImplemented`.
 */
export function parseRequest(message: IncomingMessage, storage: Storage): S3Request {
  const { method = '', url: target = '', headers } = message;
  const mark = target.indexOf('?');
  const query = mark === -1 ? NO_QUERY : new URLSearchParams(target.slice(mark + 1));
  const path = decodePath(mark === -1 ? target : target.slice(0, mark));
  const byHost = bucketOfHost(headers.host ?? '', storage);
  const slash = path.indexOf('/', 1);
  const bucket = byHost ?? path.slice(1, slash === -1 ? undefined : slash);
  const key = byHost === undefined ? (slash === -1 ? '' : path.slice(slash + 1)) : path.slice(1);
  const operation = operationOf(method, key === '' ? 'bucket' : 'object', query);
  if (headers['x-amz-copy-source'] !== undefined) throw notImplemented('copies');
  return { operation, method, bucket, key, query, headers, canonicalPath: encodePath(path) };
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new S3Error(400, 'InvalidURI', "Couldn't parse the specified URI.");
  }
}

function encodePath(path: string): string {
  return encodeURIComponent(path).replace(/%2F|[!'()*]/g, (char) =>
    char === '%2F' ? '/' : `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Returns the bucket that is named before the host name. */
function bucketOfHost(host: string, storage: Storage): string | undefined {
  const name = host.replace(/:\d+$/, '');
  if (isIP(name) !== 0 || name === 'localhost') return undefined;
  if (name.endsWith('.localhost')) return name.slice(0, -'.localhost'.length);
  const known = [...storage.buckets.keys()].filter((bucket) => name.startsWith(`${bucket}.`));
  return known.sort((a, b) => b.length - a.length)[0];
}

function operationOf(method: string, level: 'bucket' | 'object', query: URLSearchParams): S3Operation {
  const selector = query.size === 0 ? undefined : SELECTORS.find((name) => query.has(name));
  const name = selector === undefined ? `${method} ${level}` : `${method} ${level}?${selector}`;
  if (Object.hasOwn(OPERATIONS, name)) return OPERATIONS[name as keyof typeof OPERATIONS];
  throw notImplemented(name);
}

function notImplemented(what: string): S3Error {
  return new S3Error(501, 'NotImplemented', `This server does not know ${what}.`);
}
