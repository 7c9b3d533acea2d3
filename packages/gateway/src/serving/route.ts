import type { IncomingMessage } from 'node:http';
import { BatchReading } from '../batches/batch-reading.js';
import { asBatch, parseBatch, WITH_ETAGS, WITH_SUMS, type BatchTarget } from '../batches/batch-request.js';
import type { HierarchyStorage } from '../hierarchy/hierarchy-storage.js';
import type { HierarchyWrites } from '../hierarchy/hierarchy-writes.js';
import type { HierarchyObject } from '../hierarchy/parts.js';
import type { Answer } from '../protocol/answers.js';
import { checkSignature, type S3Credentials } from '../protocol/authentication.js';
import { checkHash } from '../protocol/bodies.js';
import { isSigned } from '../protocol/claim.js';
import {
  asRequest,
  nameOfHost,
  parseTarget,
  READ_OPERATIONS,
  type S3Request,
  type S3Target,
} from '../protocol/requests.js';
import { accessDenied, noSuchBucket, S3Error } from '../protocol/s3-error.js';
import { bucketLocation, headBucket, listBuckets } from '../reads/buckets.js';
import { listObjects, listObjectsV2 } from '../reads/listing.js';
import { getObject, isOnlyIfCached } from '../reads/objects.js';
import type { Outcome, Understood } from './exchange.js';
import { isLoopback, type GatewayLimits } from './options.js';
import { routeWrite } from './route-writes.js';

/** The region that the gateway reports. It accepts signatures for any. */
const REGION = 'us-east-1';

const PAGE_SIZE = 1000;

/** The dependencies of routing a request. */
export interface RouteParts {
  readonly buckets: ReadonlyMap<string, HierarchyStorage>;
  /** By bucket, for buckets that take writes. */
  readonly writes: ReadonlyMap<string, HierarchyWrites>;
  /** Undefined: anyone may read. */
  readonly credentials: S3Credentials | undefined;
  readonly limits: Pick<GatewayLimits, 'batchItems' | 'batchBytes'>;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Reads the body of the request, up to this many bytes. */
  readonly body: (most: number) => Promise<Uint8Array>;
  /** Begins to read the body of a write. */
  readonly pieces: () => AsyncIterable<Uint8Array>;
  readonly understood: (what: Understood) => void;
  readonly signal: AbortSignal;
}

/**
 * Finds out the operation of a request and whether it is allowed, and carries it out.
 * @throws S3Error For a request that is refused.
 */
export async function route(message: IncomingMessage, parts: RouteParts): Promise<Outcome> {
  const { buckets, understood } = parts;
  const target = parseTarget(message, buckets.keys());
  const { bucket, key, method } = target;
  understood({ operation: undefined, bucket, key });
  await authorize(target, parts);
  if (method !== 'GET' && method !== 'HEAD')
    return { answer: await routeWrite(target, { ...parts, isAnonymous: parts.credentials === undefined }) };
  const batch = method === 'GET' ? asBatch(target) : undefined;
  if (batch !== undefined) {
    understood({ operation: 'GetBatch', bucket: batch.bucket, key: '' });
    return getBatch(batch, target, message.httpVersion, parts);
  }
  const request = asRequest(target, READ_OPERATIONS);
  understood({ operation: request.operation, bucket, key });
  return carryOut(request, parts);
}

async function authorize(target: S3Target, { credentials, now }: RouteParts): Promise<void> {
  if (credentials !== undefined) {
    if (!isSigned(target)) throw accessDenied();
    await checkSignature(target, { credentials, region: undefined, now });
    return;
  }
  // A web page could point its own host name here, and read with the rights of its viewer.
  const host = nameOfHost(target.headers.host ?? '');
  if (!isLoopback(host) && !host.endsWith('.localhost'))
    throw accessDenied('Without credentials, this endpoint is for the host names 127.0.0.1 and localhost.');
}

/** AIStore's GetBatch. S3 has no operation that returns many objects. */
async function getBatch(
  batch: BatchTarget,
  target: S3Target,
  httpVersion: string,
  parts: RouteParts,
): Promise<Outcome> {
  const { buckets, credentials, limits, signal } = parts;
  if (httpVersion === '1.0') throw needsChunks();
  const body = await parts.body(limits.batchBytes);
  checkHash(body, target.headers, credentials !== undefined);
  const withEtags = target.headers[WITH_ETAGS] !== undefined;
  const withSums = withEtags && target.headers[WITH_SUMS] !== undefined;
  const request = parseBatch(body, batch, { most: limits.batchItems, withEtags, withSums });
  return {
    answer: { status: 200, headers: ['Content-Type', 'application/x-tar'], isOfAnyLength: true },
    body: new BatchReading(buckets, request, { signal, onlyIfCached: isOnlyIfCached(target) }),
  };
}

async function carryOut(request: S3Request, parts: RouteParts): Promise<Outcome> {
  const { buckets, signal } = parts;
  if (request.operation === 'ListBuckets') return { answer: listBuckets([...buckets.keys()]) };
  const storage = buckets.get(request.bucket);
  if (storage === undefined) throw noSuchBucket(request.bucket);
  const call = { request, storage, pageSize: PAGE_SIZE, signal };
  switch (request.operation) {
    case 'HeadBucket':
      return { answer: headBucket(REGION) };
    case 'GetBucketLocation':
      return { answer: bucketLocation(REGION) };
    case 'ListObjects':
      return { answer: await listObjects(call) };
    case 'ListObjectsV2':
      return { answer: await listObjectsV2(call) };
    case 'HeadObject':
    case 'GetObject':
      return withBytes(request, storage, await getObject(call), signal);
  }
}

function withBytes(
  request: S3Request,
  storage: HierarchyStorage,
  answer: Answer<HierarchyObject>,
  signal: AbortSignal,
): Outcome {
  const { content, contentLength = 0 } = answer;
  if (content === undefined) return { answer };
  const { object, range } = content;
  if (request.operation === 'HeadObject' || contentLength === 0) return { answer, from: object.from };
  return { answer, body: storage.open(object, { range, signal, onlyIfCached: isOnlyIfCached(request) }) };
}

/** Without chunks, an answer that breaks off after an entry would look complete. */
function needsChunks(): S3Error {
  return new S3Error(505, 'NotImplemented', 'A batch is sent in chunks. Ask for it with HTTP/1.1.');
}
