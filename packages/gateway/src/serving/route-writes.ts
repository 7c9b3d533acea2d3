import type { HierarchyWrites } from '../hierarchy/hierarchy-writes.js';
import type { Answer } from '../protocol/answers.js';
import { asRequest, WRITE_OPERATIONS, type S3Target, type WriteOperation } from '../protocol/requests.js';
import { accessDenied, noSuchBucket } from '../protocol/s3-error.js';
import type { WriteCall } from '../writes/call.js';
import { abortUpload, completeUpload, createUpload, uploadPart } from '../writes/multipart.js';
import { deleteObject, deleteObjects, putObject } from '../writes/objects.js';
import type { Understood } from './exchange.js';

/**
 * The answer to writes where none are allowed. Every client knows 403 `AccessDenied` as an error of
 * permissions, and few know 405.
 */
const READ_ONLY = 'This endpoint only reads. Write to the source of the bucket instead.';

const HANDLERS: Readonly<Record<WriteOperation, (call: WriteCall) => Promise<Answer>>> = {
  PutObject: putObject,
  DeleteObject: deleteObject,
  DeleteObjects: deleteObjects,
  CreateMultipartUpload: createUpload,
  UploadPart: uploadPart,
  CompleteMultipartUpload: completeUpload,
  AbortMultipartUpload: abortUpload,
};

/** The dependencies of routing a write. */
export interface WriteRouteParts extends Pick<WriteCall, 'pieces' | 'signal'> {
  readonly writes: ReadonlyMap<string, HierarchyWrites>;
  /** Whether anyone who reaches this endpoint may write. */
  readonly isAnonymous: boolean;
  readonly understood: (what: Understood) => void;
}

/**
 * Carries out an authorized request that does more than read.
 * @throws S3Error For a request that is refused.
 */
export async function routeWrite(target: S3Target, parts: WriteRouteParts): Promise<Answer> {
  const { writes, isAnonymous, understood, pieces, signal } = parts;
  const { bucket, key, headers } = target;
  if (writes.size === 0) throw accessDenied(READ_ONLY);
  const storage = writes.get(bucket);
  if (storage === undefined) throw bucket === '' ? noSuchBucket(bucket) : accessDenied(READ_ONLY);
  // A browser sends this header with the requests of a web page.
  if (isAnonymous && headers.origin !== undefined)
    throw accessDenied('Without credentials, this endpoint takes no writes of pages of the Web.');
  const request = asRequest(target, WRITE_OPERATIONS);
  understood({ operation: request.operation, bucket, key });
  return HANDLERS[request.operation]({ request, storage, pieces, signal });
}
