import {
  accessDenied,
  checkSignature,
  isSigned,
  READ_OPERATIONS,
  type S3Credentials,
  type S3Request,
} from '@tiered/gateway/internal';
import type { Storage } from '../storage.js';
import type { S3Operation } from './requests.js';

/** The server's state for checking a request. */
export interface AccessContext {
  readonly credentials: S3Credentials;
  readonly region: string;
  readonly requesterPays: boolean;
  readonly storage: Storage;
  /** Milliseconds since 1970, by the server's clock. */
  readonly now: number;
}

const PUBLIC_OPERATIONS: readonly S3Operation[] = Object.values(READ_OPERATIONS);

/**
 * Accepts requests that are signed with the credentials at the right time, and unsigned requests that read
 * from a public bucket.
 * @throws S3Error What S3 answers to a request that it refuses.
 */
export async function checkAccess(request: S3Request<S3Operation>, context: AccessContext): Promise<void> {
  const { requesterPays, storage } = context;
  if (!isSigned(request)) {
    const isPublic = storage.buckets.get(request.bucket)?.isPublic === true;
    if (!isPublic || !PUBLIC_OPERATIONS.includes(request.operation) || requesterPays) throw accessDenied();
    return;
  }
  await checkSignature(request, context);
  if (requesterPays && request.headers['x-amz-request-payer'] !== 'requester') throw accessDenied();
}
