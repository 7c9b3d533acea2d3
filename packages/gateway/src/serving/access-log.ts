/** The log entry of an answer. It contains no secrets: of a query, only the operation is logged. */
export interface AccessLogEntry {
  /** When the request arrived, as ISO 8601. */
  readonly time: string;
  readonly requestId: string;
  /** The address of the client. */
  readonly client: string;
  readonly method: string;
  /** Undefined for a request that is no operation of S3. */
  readonly operation: string | undefined;
  readonly bucket: string;
  readonly key: string;
  readonly status: number;
  /** The code of the error, as in S3, and the message of the storage. */
  readonly error?: string | undefined;
  readonly cause?: string | undefined;
  /** Bytes of the body that were passed to the connection. */
  readonly bytes: number;
  /** The slowest level that any of these bytes came from. */
  readonly from?: string | undefined;
  /** Milliseconds until the answer began, and until it had ended. */
  readonly beganMs: number;
  readonly ms: number;
  /** Whether the answer broke off: the client went away or stopped reading, or the source failed. */
  readonly isBroken: boolean;
}

/**
 * Formats an answer as a line of a log, without a line break. It is JSON, so that no key can pass for a line.
 */
export function accessLogLine(entry: AccessLogEntry): string {
  return JSON.stringify(entry);
}
