import { READ_OPERATIONS, type OperationTable, type S3Request } from '@tiered/gateway/internal';

/** The operations that the server knows: those that only read are the gateway's. */
const OPERATIONS = {
  ...READ_OPERATIONS,
  'POST bucket?delete': 'DeleteObjects',
  'PUT object': 'PutObject',
  'DELETE object': 'DeleteObject',
  'POST object?uploads': 'CreateMultipartUpload',
  'PUT object?uploadId': 'UploadPart',
  'POST object?uploadId': 'CompleteMultipartUpload',
  'DELETE object?uploadId': 'AbortMultipartUpload',
} as const;

/** Name of an operation in S3's API. */
export type S3Operation = (typeof OPERATIONS)[keyof typeof OPERATIONS];

/** What chooses each operation. */
export const OPERATION_TABLE: OperationTable<S3Operation> = OPERATIONS;

/** Every operation. */
export const S3_OPERATIONS: readonly S3Operation[] = [...new Set(Object.values(OPERATIONS))];

/** A request with its body, after the body was checked. */
export interface S3RequestWithBody extends S3Request<S3Operation> {
  readonly body: Uint8Array;
  /** Checksums that came with the body, by algorithm, in headers or after it. All of them match. */
  readonly checksums: ReadonlyMap<string, string>;
}
