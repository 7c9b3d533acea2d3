import type { OperationOptions } from '../driver/driver.js';

/** Options of a read: a range and a signal. */
export interface HierarchyReadOptions extends OperationOptions {
  /** First byte. Default: 0. */
  readonly offset?: number | undefined;
  /** The most bytes to read. As with pread, fewer come only at the end of the object. Default: to the end. */
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
  /** The memory for the bytes, as many as fit. It is the caller's again once the batch has settled. */
  readonly target: Uint8Array;
  /** First byte. Default: 0. */
  readonly offset?: number | undefined;
  /**
   * Several ranges of the object instead of one, as pairs of a first byte, counted from `offset`, and a
   * length. Their bytes are packed into the target back to back. They must fill it exactly, and be within the
   * object, else the read fails with `TIERED_RANGE_INVALID`. A read with a thousand pieces costs the event
   * loop little more than one, unless the object is being placed (`npm run bench -- read-many`). Default: one
   * range.
   */
  readonly pieces?: Float64Array | undefined;
}
