import type { ChecksumAlgorithm, ChecksumFunction } from '../protocol/checksums.js';
import type { S3RequestWithBody } from '../protocol/requests.js';
import type { Bucket } from '../storage.js';

/** A request that may be carried out, and what operations need to know of the server. */
export interface Call {
  readonly request: S3RequestWithBody;
  readonly bucket: Bucket;
  /** Milliseconds since 1970, by the server's clock. */
  readonly now: number;
  readonly pageSize: number;
  /** Smallest part of an upload that is not the last. */
  readonly minPartBytes: number;
  readonly checksumOf: ChecksumFunction;
  /** What objects get that were stored without a checksum; undefined if answers carry none. */
  readonly defaultChecksum: ChecksumAlgorithm | undefined;
  /** Whether If-Match and If-None-Match count for nothing. */
  readonly ignoreConditions: boolean;
  /** Whether a page of a listing holds nothing, and is not the last. */
  readonly emptyPage: boolean;
  /** A new id, unlike any other. */
  readonly newId: () => string;
}
