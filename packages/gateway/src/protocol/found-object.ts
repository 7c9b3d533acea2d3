/** What answers say of an object. */
export interface FoundObject {
  /** Bytes. */
  readonly size: number;
  /** In quotes. */
  readonly etag: string;
  /** Milliseconds since 1970. Undefined where the storage does not tell. */
  readonly lastModified: number | undefined;
  /** Further headers of every answer for the object: names and values in turn. */
  readonly metadata: readonly string[];
}

/** The Content-Type of an object that was stored without one, as S3 has it. */
export const PLAIN: readonly string[] = ['Content-Type', 'binary/octet-stream'];

/**
 * When an object was changed, as answers say it. Clients cannot do without a time, so one that is not known
 * is that of 1970: it is the same at every gateway and after each start.
 */
export function modifiedOf({ lastModified = 0 }: Partial<Pick<FoundObject, 'lastModified'>>): Date {
  return new Date(lastModified);
}

/** The headers of every answer for an object. */
export function headersOf(object: FoundObject): string[] {
  const modified = modifiedOf(object).toUTCString();
  return ['ETag', object.etag, 'Last-Modified', modified, 'Accept-Ranges', 'bytes', ...object.metadata];
}
