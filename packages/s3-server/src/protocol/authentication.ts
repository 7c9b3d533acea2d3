import { Sha256 } from '@smithy/core/checksum';
import { SignatureV4 } from '@smithy/signature-v4';
import { timingSafeEqual } from 'node:crypto';
import type { Storage } from '../storage.js';
import type { S3Operation, S3Request } from './requests.js';
import { S3Error } from './s3-error.js';

/** Keys that may sign requests. */
export interface S3ServerCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** If given, requests must carry it. */
  readonly sessionToken?: string;
  /** From this moment on, requests are answered with `ExpiredToken`. */
  readonly expiration?: Date;
}

/** What a request is checked against. */
export interface AuthenticationContext {
  readonly credentials: S3ServerCredentials;
  readonly region: string;
  readonly requesterPays: boolean;
  readonly storage: Storage;
  /** Milliseconds since 1970, by the server's clock. */
  readonly now: number;
}

interface Authorization {
  readonly accessKeyId: string;
  readonly day: string;
  readonly region: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
}

const MAX_SKEW_MS = 15 * 60 * 1000;

const PUBLIC_OPERATIONS: readonly S3Operation[] = ['GetObject', 'HeadObject', 'ListObjectsV2', 'HeadBucket'];

/**
 * Accepts requests that are signed with the credentials and have the right time, and requests without a
 * signature that read from a public bucket.
 * @throws S3Error What S3 answers to a request that it refuses.
 */
export async function authenticate(request: S3Request, context: AuthenticationContext): Promise<void> {
  const { headers } = request;
  if (headers.authorization === undefined) {
    checkAnonymous(request, context);
    return;
  }
  const authorization = parseAuthorization(headers.authorization);
  const { credentials } = context;
  if (authorization.accessKeyId !== credentials.accessKeyId) {
    throw denied('InvalidAccessKeyId', 'The AWS Access Key Id you provided does not exist in our records.');
  }
  checkToken(request, context);
  checkScope(authorization, context);
  const date = checkDate(request, authorization, context);
  checkSignedHeaders(request, authorization);
  const expected = await expectedSignature(request, authorization, date, context);
  if (!sameText(expected, authorization.signature)) {
    throw denied(
      'SignatureDoesNotMatch',
      'The request signature we calculated does not match the signature you provided. Check your key and signing method.',
    );
  }
  if (context.requesterPays && headers['x-amz-request-payer'] !== 'requester') throw accessDenied();
}

function checkAnonymous(
  { operation, bucket }: S3Request,
  { storage, requesterPays }: AuthenticationContext,
): void {
  const isPublic = storage.buckets.get(bucket)?.isPublic === true && PUBLIC_OPERATIONS.includes(operation);
  if (!isPublic || requesterPays) throw accessDenied();
}

function parseAuthorization(header: string): Authorization {
  const match =
    /^AWS4-HMAC-SHA256 +Credential=([^, ]+), *SignedHeaders=([^, ]+), *Signature=([0-9a-f]{64})$/.exec(
      header,
    );
  const [, credential = '', signedHeaders = '', signature = ''] = match ?? [];
  const [accessKeyId = '', day = '', region = '', service, end, ...more] = credential.split('/');
  if (service !== 's3' || end !== 'aws4_request' || more.length > 0) {
    throw malformed('The authorization header that you provided is not valid.');
  }
  return { accessKeyId, day, region, signature, signedHeaders: signedHeaders.split(';') };
}

function checkToken(
  { headers }: S3Request,
  { credentials: { sessionToken, expiration }, now }: AuthenticationContext,
): void {
  const token = headers['x-amz-security-token'];
  if (token === undefined && sessionToken === undefined) return;
  if (typeof token !== 'string' || sessionToken === undefined || !sameText(token, sessionToken)) {
    throw new S3Error(400, 'InvalidToken', 'The provided token is malformed or otherwise invalid.');
  }
  if (expiration !== undefined && expiration.getTime() <= now) {
    throw new S3Error(400, 'ExpiredToken', 'The provided token has expired.');
  }
}

function checkScope({ region }: Authorization, context: AuthenticationContext): void {
  if (region === context.region) return;
  throw malformed(
    `The authorization header is malformed; the region '${region}' is wrong; expecting '${context.region}'`,
    { Region: context.region },
  );
}

/** Returns the date that was signed. It must be close to the server's own. */
function checkDate({ headers }: S3Request, { day }: Authorization, { now }: AuthenticationContext): Date {
  const text = headers['x-amz-date'];
  const match = typeof text === 'string' ? /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text) : null;
  const [, year, month, dayOfMonth, hour, minute, second] = match ?? [];
  const date = new Date(`${year}-${month}-${dayOfMonth}T${hour}:${minute}:${second}Z`);
  if (Number.isNaN(date.getTime())) {
    throw denied('AccessDenied', 'AWS authentication requires a valid Date or x-amz-date header');
  }
  if (Math.abs(date.getTime() - now) > MAX_SKEW_MS) {
    throw new S3Error(
      403,
      'RequestTimeTooSkewed',
      'The difference between the request time and the current time is too large.',
      {
        elements: {
          RequestTime: String(text),
          ServerTime: new Date(now).toISOString(),
          MaxAllowedSkewMilliseconds: MAX_SKEW_MS,
        },
      },
    );
  }
  if (text?.slice(0, 8) !== day) throw malformed('The date of the credential is not that of the request.');
  return date;
}

/** Everything that decides about the request must be signed. Otherwise others could change it on the way. */
function checkSignedHeaders({ headers }: S3Request, { signedHeaders }: Authorization): void {
  const unsigned = Object.keys(headers).filter(
    (name) => (name === 'host' || name.startsWith('x-amz-')) && !signedHeaders.includes(name),
  );
  if (unsigned.length === 0) return;
  throw new S3Error(403, 'AccessDenied', 'There were headers present in the request which were not signed', {
    elements: { HeadersNotSigned: unsigned.join(', ') },
  });
}

async function expectedSignature(
  { method, canonicalPath, query, headers }: S3Request,
  { signedHeaders }: Authorization,
  signingDate: Date,
  { credentials, region }: AuthenticationContext,
): Promise<string> {
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const signer = new SignatureV4({
    service: 's3',
    region,
    credentials: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) },
    sha256: Sha256,
    uriEscapePath: false,
    applyChecksum: false,
  });
  const signed = await signer.sign(
    {
      method,
      protocol: 'http:',
      hostname: headers.host ?? '',
      path: canonicalPath,
      query: Object.fromEntries(query),
      headers: Object.fromEntries(signedHeaders.map((name) => [name, textOf(headers[name])])),
    },
    { signingDate, signableHeaders: new Set(signedHeaders) },
  );
  return signed.headers['authorization']?.slice(-64) ?? '';
}

function textOf(value: string | string[] | undefined): string {
  return Array.isArray(value) ? value.join(',') : (value ?? '');
}

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.byteLength === right.byteLength && timingSafeEqual(left, right);
}

function denied(code: string, message: string): S3Error {
  return new S3Error(403, code, message);
}

function accessDenied(): S3Error {
  return denied('AccessDenied', 'Access Denied');
}

function malformed(message: string, elements: Readonly<Record<string, string>> = {}): S3Error {
  return new S3Error(400, 'AuthorizationHeaderMalformed', message, { elements });
}
