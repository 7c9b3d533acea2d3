import type { IncomingHttpHeaders } from 'node:http';
import type { ErrorCode } from '@tiered/core';
import { Failure } from './failure.js';
import { wallTime } from './wall-time.js';
import { readLeaves } from './xml.js';

/** An answer of the server, without the body that went to a sink. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/**
 * Most bytes of an answer that lists 1000 keys: each key has up to 1024 bytes, up to six times as many if
 * escaped, and its metadata.
 */
export const LARGEST_LIST_BYTES = 8 * 2 ** 20;

/**
 * Most bytes of any other answer that is not an object, and of an error. S3's answers have less than a
 * hundredth of that.
 */
export const LARGEST_ANSWER_BYTES = 64 * 1024;

interface Meaning {
  readonly means: ErrorCode;
  readonly advice: string;
}

const BY_CODE: Readonly<Record<string, Meaning>> = {
  NoSuchBucket: {
    means: 'TIERED_UNAVAILABLE',
    advice: 'there is no such bucket; check bucket, endpoint and region',
  },
  NoSuchUpload: {
    means: 'TIERED_IO',
    advice:
      'the upload is gone: ended by somebody else, or completed although the answer was lost; write it again',
  },
  ExpiredToken: { means: 'TIERED_PERMISSION', advice: 'the credentials have expired; get new ones' },
  InvalidAccessKeyId: {
    means: 'TIERED_PERMISSION',
    advice: 'the server does not know the access key; check the credentials and the endpoint',
  },
  SignatureDoesNotMatch: {
    means: 'TIERED_PERMISSION',
    advice: 'the signature is refused; check the secret key, and that no proxy changes requests',
  },
  RequestTimeTooSkewed: {
    means: 'TIERED_PERMISSION',
    advice: 'the clocks of this machine and of the server differ; set them',
  },
};

const BY_STATUS: Readonly<Record<number, Meaning>> = {
  401: { means: 'TIERED_PERMISSION', advice: 'the credentials are not accepted; check them' },
  403: { means: 'TIERED_PERMISSION', advice: 'access is denied; check credentials and bucket policy' },
  404: { means: 'TIERED_NOT_FOUND', advice: 'there is no such object; list() gives the keys' },
};

/**
 * The header that may make a server refuse a request: for another version of its object, or for any object.
 */
export type Condition = 'if-match' | 'if-none-match';

/**
 * Meaning of 412. Some servers also send it for requests that they do not understand, without a condition.
 */
const REFUSED: Readonly<Record<Condition, Meaning>> = {
  'if-match': { means: 'TIERED_SOURCE_CHANGED', advice: '' },
  'if-none-match': { means: 'TIERED_EXISTS', advice: 'there is such an object already' },
};

const NO_CONDITIONS: Meaning = {
  means: 'TIERED_UNSUPPORTED',
  advice: 'the server does not support writes with ifAbsent',
};

const PASSING_STATUS = new Set([429, 500, 502, 503, 504]);
const PASSING_CODES = new Set([
  'SlowDown',
  'RequestTimeout',
  'InternalError',
  'ServiceUnavailable',
  // Another write of the object is in flight. Once it has ended, the server can decide.
  'ConditionalRequestConflict',
]);

/** The failure that an unsuccessful answer stands for, for a request with this condition. */
export function failureOf({ status, headers, body }: Answer, condition: Condition | undefined): Failure {
  const xml = errorIn(body);
  const code = xml.code ?? `HTTP_${status}`;
  const requestId = safe(headerOf(headers, 'x-amz-request-id')) ?? xml.requestId;
  const serverTimeMs = timeOf(headerOf(headers, 'date'));
  const region = safe(headerOf(headers, 'x-amz-bucket-region')) ?? xml.region;
  const common = { status, code, requestId, serverTimeMs };
  if (region !== undefined && (status === 301 || status === 307 || status === 400)) {
    const advice = `the bucket is in region ${region}; set region to "${region}"`;
    return new Failure({ ...common, means: 'TIERED_CONFIG_INVALID', advice });
  }
  const advice = PASSING_STATUS.has(status)
    ? 'the server could not serve the request; try later, or with less concurrency'
    : 'the server refused the request; check endpoint, region and path style';
  // The status of the answer to a completed upload is sent before its outcome is known.
  const isRefused = condition !== undefined && (status === 412 || code === 'PreconditionFailed');
  if (isRefused) return new Failure({ ...common, status: 412, ...REFUSED[condition] });
  const byStatus = status === 501 && condition === 'if-none-match' ? NO_CONDITIONS : BY_STATUS[status];
  return new Failure({
    ...common,
    ...(BY_CODE[code] ?? byStatus ?? { means: 'TIERED_IO', advice }),
    retryable: PASSING_STATUS.has(status) || PASSING_CODES.has(code),
    slowDown: status === 429 || status === 503 || code === 'SlowDown',
    retryAfterMs: retryAfterOf(headerOf(headers, 'retry-after'), serverTimeMs),
  });
}

/** A header's value. The first one if it was sent more than once. */
export function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** An ETag in the form used in headers. Listings may use another. */
export function etagOf(text: string): string {
  return text.startsWith('"') || text.startsWith('W/') ? text : `"${text}"`;
}

/** Whether an ETag can be used in If-Match. A server must refuse a weak one, even the object's own. */
export function isStrong(etag: string): boolean {
  return !etag.startsWith('W/');
}

/** The length that an answer announces. Undefined if it announces none. */
export function lengthOf(headers: IncomingHttpHeaders): number | undefined {
  const text = headerOf(headers, 'content-length');
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

interface ErrorText {
  readonly code?: string | undefined;
  readonly requestId?: string | undefined;
  readonly region?: string | undefined;
}

function errorIn(body: Buffer): ErrorText {
  try {
    const found = new Map<string, string>();
    readLeaves(body, ([root, child = '', ...deeper], text) => {
      if (root === 'Error' && deeper.length === 0) found.set(child, text);
    });
    const field = (name: string) => safe(found.get(name));
    return { code: field('Code'), requestId: field('RequestId'), region: field('Region') };
  } catch {
    // A proxy's page, an empty body, or truncated XML. The status says enough.
    return {};
  }
}

/** Lets only names and numbers through, and nothing else that a server may have sent. */
function safe(text: string | undefined): string | undefined {
  return text !== undefined && /^[\w.:-]{1,64}$/.test(text) ? text : undefined;
}

/** Seconds or a date. A date is compared with the server's own clock if that is known. */
function retryAfterOf(text: string | undefined, serverTimeMs: number | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const at = timeOf(text);
  return at === undefined ? undefined : Math.max(0, at - (serverTimeMs ?? wallTime()));
}

function timeOf(text: string | undefined): number | undefined {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? undefined : time;
}
