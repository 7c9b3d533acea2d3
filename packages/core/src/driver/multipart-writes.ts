import type { OperationOptions, StorageDriver } from './driver.js';

/** A part of an upload that has been taken. */
export interface WrittenPart {
  /** From 1 on. */
  readonly number: number;
  /** As `writePart` has returned it. */
  readonly etag: string;
}

/**
 * Uploads in parts as a bucket has them, for those who pass on the uploads of others: the bucket keeps the
 * parts, and knows an upload by its id. Nobody sees the object until the upload is completed. Errors that the
 * bucket itself tells of an upload have its own answer as their `cause`, with its `status` and `code`.
 */
export interface MultipartWrites {
  /** Begins an upload, and returns its id. Whoever has it completes or aborts the upload. */
  createUpload(key: string, options: OperationOptions): Promise<string>;
  /** Writes a part, or replaces it. Returns its ETag. Takes no memory beside the bytes. */
  writePart(
    key: string,
    uploadId: string,
    part: { readonly number: number; readonly bytes: Uint8Array },
    options: OperationOptions,
  ): Promise<string>;
  /**
   * Makes an object of parts, in their order. An abort waits for the answer. If the answer is lost, the
   * object may be there although this rejects.
   */
  completeUpload(
    key: string,
    uploadId: string,
    parts: readonly WrittenPart[],
    options: OperationOptions,
  ): Promise<void>;
  /** Ends an upload, and removes its parts. */
  abortUpload(key: string, uploadId: string, options: OperationOptions): Promise<void>;
}

/** Returns a driver as one that takes uploads in parts. Undefined if it does not. */
export function multipartWritesOf(driver: StorageDriver): MultipartWrites | undefined {
  const { createUpload, writePart, completeUpload, abortUpload } = driver as Partial<MultipartWrites>;
  const all = [createUpload, writePart, completeUpload, abortUpload];
  return all.every((method) => typeof method === 'function')
    ? (driver as StorageDriver & MultipartWrites)
    : undefined;
}
