import {
  READ_OPERATIONS,
  WRITE_OPERATIONS,
  type ChecksumAlgorithm,
  type OperationTable,
  type ReadOperation,
  type S3Request,
  type WriteOperation,
} from '@tiered/gateway/internal';

/** Name of an operation in S3's API. */
export type S3Operation = ReadOperation | WriteOperation;

/** The selector of each operation, as in the gateway. */
export const OPERATION_TABLE: OperationTable<S3Operation> = { ...READ_OPERATIONS, ...WRITE_OPERATIONS };

/** Every operation. */
export const S3_OPERATIONS: readonly S3Operation[] = [...new Set(Object.values(OPERATION_TABLE))];

/** A request with its body, after the body was checked. */
export interface S3RequestWithBody extends S3Request<S3Operation> {
  readonly body: Uint8Array;
  /** Checksums that came with the body, by algorithm, in headers or after it. All of them match. */
  readonly checksums: ReadonlyMap<ChecksumAlgorithm, string>;
}
