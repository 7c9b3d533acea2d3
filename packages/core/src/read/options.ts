import type { OperationOptions } from '../driver/driver.js';

/** Options of a read: a range and a signal. */
export interface HierarchyReadOptions extends OperationOptions {
  /** First byte. Default: 0. */
  readonly offset?: number | undefined;
  /** The most bytes to read. Fewer come only at the end of the object, as pread. Default: to the end. */
  readonly length?: number | undefined;
}

/** Options of `readInto`. */
export interface HierarchyReadIntoOptions extends OperationOptions {
  /** First byte. Default: 0. */
  readonly offset?: number | undefined;
}

/** One read of a batch, into the caller's memory. */
export interface HierarchyReadRequest {
  readonly key: string;
  /** Where the bytes go, as many as fit. The memory is the caller's again when the batch has settled. */
  readonly target: Uint8Array;
  /** First byte. Default: 0. */
  readonly offset?: number | undefined;
}
