import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { notImplemented, S3Error } from './s3-error.js';

/** Operations by their selector: the method, the kind of target, and a part of the query. */
export type OperationTable<Operation extends string> = Readonly<Record<string, Operation>>;

/** The operations that only read. */
export const READ_OPERATIONS = {
  'GET service': 'ListBuckets',
  'HEAD bucket': 'HeadBucket',
  'GET bucket': 'ListObjects',
  'GET bucket?list-type': 'ListObjectsV2',
  'GET bucket?location': 'GetBucketLocation',
  'GET object': 'GetObject',
  'HEAD object': 'HeadObject',
  'GET object?partNumber': 'GetObject',
  'HEAD object?partNumber': 'HeadObject',
} as const;

/** The operations that write. */
export const WRITE_OPERATIONS = {
  'POST bucket?delete': 'DeleteObjects',
  'PUT object': 'PutObject',
  'DELETE object': 'DeleteObject',
  'POST object?uploads': 'CreateMultipartUpload',
  'PUT object?uploadId': 'UploadPart',
  'POST object?uploadId': 'CompleteMultipartUpload',
  'DELETE object?uploadId': 'AbortMultipartUpload',
} as const;

/** Name of an operation that writes, in S3's API. */
export type WriteOperation = (typeof WRITE_OPERATIONS)[keyof typeof WRITE_OPERATIONS];

/** Name of an operation that only reads, in S3's API. */
export type ReadOperation = (typeof READ_OPERATIONS)[keyof typeof READ_OPERATIONS];

/** Query parameters that select another operation, including operations that no table has. */
const SELECTORS = [
  'uploadId',
  'uploads',
  'list-type',
  'delete',
  ...['acl', 'attributes', 'cors', 'lifecycle', 'location', 'partNumber', 'policy', 'restore', 'select'],
  ...['retention', 'tagging', 'torrent', 'versionId', 'versioning', 'versions', 'website', 'encryption'],
  ...['accelerate', 'analytics', 'inventory', 'legal-hold', 'logging', 'metrics', 'notification'],
  ...['object-lock', 'ownershipControls', 'policyStatus', 'publicAccessBlock', 'replication'],
  ...['requestPayment', 'session'],
];

/** A request as S3 parses it, before its operation is known. */
export interface S3Target {
  readonly method: string;
  /** Empty for operations on all buckets. */
  readonly bucket: string;
  /** Empty for operations on a bucket. */
  readonly key: string;
  /** The path of the request line, percent-encoded in the one way that signatures use. */
  readonly canonicalPath: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
}

/** A request as S3 understands it. */
export interface S3Request<Operation extends string = ReadOperation> extends S3Target {
  readonly operation: Operation;
}

const NO_QUERY = new URLSearchParams();

/**
 * Parses the target of a request. Its path is not normalised: `//`, `.` and `..` are parts of keys.
 * @param buckets The names of all buckets, for host names that begin with one.
 * @throws S3Error `InvalidURI` for a path that is not UTF-8.
 */
export function parseTarget(message: IncomingMessage, buckets: Iterable<string>): S3Target {
  const { method = '', url: target = '', headers } = message;
  const mark = target.indexOf('?');
  const query = mark === -1 ? NO_QUERY : new URLSearchParams(target.slice(mark + 1));
  const path = decodePath(mark === -1 ? target : target.slice(0, mark));
  const byHost = bucketOfHost(headers.host ?? '', buckets);
  const slash = path.indexOf('/', 1);
  const bucket = byHost ?? path.slice(1, slash === -1 ? undefined : slash);
  const key = byHost === undefined ? (slash === -1 ? '' : path.slice(slash + 1)) : path.slice(1);
  return { method, bucket, key, query, headers, canonicalPath: encodePath(path) };
}

/**
 * Selects the operation of a request.
 * @throws S3Error 501 `NotImplemented` for an operation that the table does not have.
 */
export function asRequest<Operation extends string>(
  target: S3Target,
  operations: OperationTable<Operation>,
): S3Request<Operation> {
  const name = operationName(target);
  const operation = Object.hasOwn(operations, name) ? operations[name] : undefined;
  if (operation === undefined) throw notImplemented(name);
  if (target.headers['x-amz-copy-source'] !== undefined) throw notImplemented('copies');
  return { ...target, operation };
}

function operationName({ method, bucket, key, query }: S3Target): string {
  const level = bucket === '' ? 'service' : key === '' ? 'bucket' : 'object';
  const selector = query.size === 0 ? undefined : SELECTORS.find((name) => query.has(name));
  return selector === undefined ? `${method} ${level}` : `${method} ${level}?${selector}`;
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

/** Returns the name in a Host header, without the port. */
export function nameOfHost(host: string): string {
  return host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
}

/** Returns the bucket that precedes the host name. */
function bucketOfHost(host: string, buckets: Iterable<string>): string | undefined {
  const name = nameOfHost(host);
  if (isIP(name) !== 0 || name === 'localhost') return undefined;
  if (name.endsWith('.localhost')) return name.slice(0, -'.localhost'.length);
  const known = [...buckets].filter((bucket) => name.startsWith(`${bucket}.`));
  return known.sort((a, b) => b.length - a.length)[0];
}
