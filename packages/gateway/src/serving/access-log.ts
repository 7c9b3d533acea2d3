/** What is told of an answer. It has no secrets: of a query, only the operation is told. */
export interface AccessLogEntry {
  /** When the request came, as ISO 8601. */
  readonly time: string;
  readonly requestId: string;
  /** The address of the client. */
  readonly client: string;
  readonly method: string;
  /** Undefined for what is no operation of S3. */
  readonly operation: string | undefined;
  readonly bucket: string;
  readonly key: string;
  readonly status: number;
  /** The code of the error, as S3 has it, and what the storage said. */
  readonly error?: string | undefined;
  readonly cause?: string | undefined;
  /** Bytes of the body that were given to the connection. */
  readonly bytes: number;
  /** The slowest level that any of them came from. */
  readonly from?: string | undefined;
  /** Milliseconds until the answer began, and until it had ended. */
  readonly beganMs: number;
  readonly ms: number;
  /** Whether the answer broke off: the client went away or stopped reading, or the source failed. */
  readonly isBroken: boolean;
}

/** An answer as a line of a log, without its end: JSON, so that no key can be taken for a line. */
export function accessLogLine(entry: AccessLogEntry): string {
  return JSON.stringify(entry);
}
