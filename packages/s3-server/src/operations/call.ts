import type { ChecksumAlgorithm } from '@tiered/gateway/internal';
import type { S3RequestWithBody } from '../protocol/requests.js';
import type { Bucket } from '../storage.js';

/** An authorized request, and what operations need to know about the server. */
export interface Call {
  readonly request: S3RequestWithBody;
  readonly region: string;
  /** The names of all buckets. */
  readonly buckets: readonly string[];
  readonly bucket: Bucket;
  /** Milliseconds since 1970, by the server's clock. */
  readonly now: number;
  readonly pageSize: number;
  /** The smallest part of an upload, except for its last one, in bytes. */
  readonly minPartBytes: number;
  /** The checksum of objects that were stored without one. Undefined if answers carry none. */
  readonly defaultChecksum: ChecksumAlgorithm | undefined;
  /** Whether If-Match and If-None-Match have no effect. */
  readonly ignoreConditions: boolean;
  /** Whether a page of a listing is empty, and says that it is not the last. */
  readonly emptyPage: boolean;
  /** Aborts when the client has gone. */
  readonly gone: AbortSignal;
  /** Creates a unique id. */
  readonly newId: () => string;
}
