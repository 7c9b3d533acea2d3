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
  /**
   * Several ranges of the object in place of one: pairs of a first byte, counted from `offset`, and a length.
   * Their bytes go into the target one behind the other. They have to fill it exactly, and to be within the
   * object, else the read fails with `TIERED_RANGE_INVALID`. A read with a thousand pieces costs the event
   * loop little more than one, unless the object is being placed (`npm run bench -- read-many`). Default: one
   * range.
   */
  readonly pieces?: Float64Array | undefined;
}
