import type { OperationOptions, StorageDriver } from './driver.js';

/** An uploaded part. */
export interface WrittenPart {
  /** Counted from 1. */
  readonly number: number;
  /** As returned by `writePart`. */
  readonly etag: string;
}

/**
 * Multipart uploads of a bucket, for code that passes on the uploads of others: the bucket keeps the parts,
 * and identifies an upload by its id. The object is invisible until the upload is completed. Errors that the
 * bucket reports for an upload have its own answer as their `cause`, with its `status` and `code`.
 */
export interface MultipartWrites {
  /** Begins an upload and returns its id. The holder of the id completes or aborts the upload. */
  createUpload(key: string, options: OperationOptions): Promise<string>;
  /** Writes or replaces a part, and returns its ETag. Uses no memory besides the bytes. */
  writePart(
    key: string,
    uploadId: string,
    part: { readonly number: number; readonly bytes: Uint8Array },
    options: OperationOptions,
  ): Promise<string>;
  /**
   * Assembles the object from parts, in their order. An abort waits for the answer. If the answer is lost,
   * the object may exist although this rejects.
   */
  completeUpload(
    key: string,
    uploadId: string,
    parts: readonly WrittenPart[],
    options: OperationOptions,
  ): Promise<void>;
  /** Ends an upload and removes its parts. */
  abortUpload(key: string, uploadId: string, options: OperationOptions): Promise<void>;
}

/** Returns a driver as one that supports multipart uploads. Undefined if it does not. */
export function multipartWritesOf(driver: StorageDriver): MultipartWrites | undefined {
  const { createUpload, writePart, completeUpload, abortUpload } = driver as Partial<MultipartWrites>;
  const all = [createUpload, writePart, completeUpload, abortUpload];
  return all.every((method) => typeof method === 'function')
    ? (driver as StorageDriver & MultipartWrites)
    : undefined;
}
