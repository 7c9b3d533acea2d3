/** The facts about an object in answers. */
export interface FoundObject {
  /** Bytes. */
  readonly size: number;
  /** In quotes. */
  readonly etag: string;
  /** Milliseconds since 1970. Undefined if the storage does not say. */
  readonly lastModified: number | undefined;
  /** Further headers of every answer about the object: names and values in turn. */
  readonly metadata: readonly string[];
}

/** The Content-Type of an object that was stored without one, as in S3. */
export const PLAIN: readonly string[] = ['Content-Type', 'binary/octet-stream'];

/**
 * When an object was changed, as answers give it. Clients need a time, so 1970 stands for an unknown one: it
 * is the same at every gateway and after each restart.
 */
export function modifiedOf({ lastModified = 0 }: Partial<Pick<FoundObject, 'lastModified'>>): Date {
  return new Date(lastModified);
}

/** The headers of every answer about the object. */
export function headersOf(object: FoundObject): string[] {
  const modified = modifiedOf(object).toUTCString();
  return ['ETag', object.etag, 'Last-Modified', modified, 'Accept-Ranges', 'bytes', ...object.metadata];
}
