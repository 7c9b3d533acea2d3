import { TieredError, type StorageDriver } from '@tiered/core';
import { versionChanged, type Operation } from '@tiered/core/driver';
import { Failure } from './http/failure.js';

/** The details of an `S3ResponseError`. */
interface S3ResponseErrorDetails {
  readonly bucket: string;
  readonly key: string;
  readonly status: number | undefined;
  readonly code: string;
  readonly requestId: string | undefined;
  readonly attempts: number;
}

/**
 * How the last request of an operation failed: the `cause` of the driver's errors. It holds no credentials,
 * no headers and none of the server's own text, because servers repeat their input in it.
 */
export class S3ResponseError extends Error {
  override readonly name = 'S3ResponseError';
  readonly bucket: string;
  /** The key in S3, including the driver's prefix. Empty for requests about the bucket. */
  readonly key: string;
  /** HTTP status. Undefined if there was no answer. */
  readonly status: number | undefined;
  /** The error code of S3, such as `SlowDown`, or of the connection, such as `ECONNRESET`. */
  readonly code: string;
  /** The id with which the server's owner can find the request. */
  readonly requestId: string | undefined;
  /** Requests made, including retries. */
  readonly attempts: number;

  /** @param details What is known about the answer. */
  constructor(details: S3ResponseErrorDetails) {
    const { bucket, key, status, code, requestId, attempts } = details;
    const facts = [
      status === undefined ? 'no answer' : `HTTP ${status}`,
      code,
      `bucket ${bucket}`,
      ...(key === '' ? [] : [`key ${JSON.stringify(key)}`]),
      ...(requestId === undefined ? [] : [`request id ${requestId}`]),
      `attempts ${attempts}`,
    ];
    super(facts.join(', '));
    this.bucket = bucket;
    this.key = key;
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.attempts = attempts;
  }
}

/** Where a failure happened. */
export interface Place {
  readonly driver: StorageDriver;
  readonly operation: Operation;
  readonly bucket: string;
  /** The key as the driver's caller knows it. */
  readonly key: string;
  /** The key in S3. */
  readonly objectKey: string;
}

/**
 * Translates a failure into an error of the SDK. Errors that are not failures of a request are returned
 * unchanged.
 */
export function explained(error: unknown, { driver, operation, bucket, key, objectKey }: Place): unknown {
  if (!(error instanceof Failure)) return error;
  const { means, advice, status, code, requestId } = error.details;
  const { attempts, gaveUp } = error;
  const cause = new S3ResponseError({ bucket, key: objectKey, status, code, requestId, attempts });
  // Core words this message, so that it is the same for all sources.
  if (means === 'TIERED_SOURCE_CHANGED') return versionChanged(driver, operation, key, { cause, attempts });
  const object = key === '' ? '' : ` of ${JSON.stringify(key)}`;
  const answer = `${status === undefined ? '' : `HTTP ${status} `}${code}`;
  const tried = attempts === 1 ? '' : `, tried ${attempts} times`;
  const id = requestId === undefined ? '' : `, request id ${requestId}`;
  return new TieredError(
    error.outOfTime ? 'TIERED_DEADLINE' : means,
    `${driver.name}: ${operation}${object} failed: ${advice} (${answer}${id}${tried}).${gaveUp === undefined ? '' : ` ${gaveUp}.`}`,
    { cause, attempts, driver: driver.name, operation, key },
  );
}
