/** Details of an error besides status, code and message. */
export interface S3ErrorDetails {
  readonly headers?: readonly string[];
  /** Further elements of the XML body, which S3 adds for some codes. */
  readonly elements?: Readonly<Record<string, string | number>>;
  /** The cause, for the server's log. Clients do not see it. */
  readonly cause?: unknown;
}

/** An error in the form of S3. */
export class S3Error extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: S3ErrorDetails;

  constructor(status: number, code: string, message: string, details: S3ErrorDetails = {}) {
    super(message, { cause: details.cause });
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** Makes the error of an object that does not exist. */
export function noSuchKey(key: string): S3Error {
  return new S3Error(404, 'NoSuchKey', 'The specified key does not exist.', { elements: { Key: key } });
}

/** Makes the error of an argument with an impossible value. */
export function invalidArgument(name: string, value: string, message: string): S3Error {
  return new S3Error(400, 'InvalidArgument', message, {
    elements: { ArgumentName: name, ArgumentValue: value },
  });
}

/** Makes the error of a bucket that does not exist. */
export function noSuchBucket(name: string): S3Error {
  return new S3Error(404, 'NoSuchBucket', 'The specified bucket does not exist', {
    elements: { BucketName: name },
  });
}

/** Makes the error of an operation that no server here supports. */
export function notImplemented(what: string): S3Error {
  return new S3Error(501, 'NotImplemented', `This server does not know ${what}.`);
}

/** Makes the error of a body that is too large. */
export function entityTooLarge(most: number): S3Error {
  return new S3Error(400, 'EntityTooLarge', `The body of this request may have ${most} bytes.`);
}

/** Makes the error of a request that is refused. */
export function accessDenied(message = 'Access Denied'): S3Error {
  return new S3Error(403, 'AccessDenied', message);
}
