import { Sha256 } from '@smithy/core/checksum';
import { SignatureV4 } from '@smithy/signature-v4';
import { claimOf, malformed, type Claim } from './claim.js';
import { PAYLOAD, UNSIGNED } from './bodies.js';
import type { S3Target } from './requests.js';
import { sameText } from './same-text.js';
import { accessDenied, S3Error } from './s3-error.js';

/** Keys that may sign requests. */
export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** If given, requests must carry it. */
  readonly sessionToken?: string;
  /** From this time on, requests are answered with `ExpiredToken`. */
  readonly expiration?: Date;
}

/** The server's state for checking a signature. */
export interface AuthenticationContext {
  readonly credentials: S3Credentials;
  /** The region that requests must be signed for. Undefined: any. */
  readonly region: string | undefined;
  /** Milliseconds since 1970, by the server's clock. */
  readonly now: number;
}

const MAX_SKEW_MS = 15 * 60 * 1000;

/**
 * Accepts requests that are signed with the credentials, by a header or in a presigned URL, at the right
 * time.
 * @throws S3Error What S3 answers to a request that it refuses.
 */
export async function checkSignature(request: S3Target, context: AuthenticationContext): Promise<void> {
  const claim = claimOf(request);
  const { credentials } = context;
  if (claim.accessKeyId !== credentials.accessKeyId) {
    throw denied('InvalidAccessKeyId', 'The AWS Access Key Id you provided does not exist in our records.');
  }
  checkToken(claim, context);
  checkRegion(claim, context);
  const date = dateOf(claim);
  if (claim.expiresIn === undefined) checkSkew(claim, date, context);
  else checkExpiry(claim.expiresIn, date, context);
  if (claim.date?.slice(0, 8) !== claim.day)
    throw malformed('The date of the credential is not that of the request.');
  checkSignedHeaders(request, claim);
  const expected = await expectedSignature(request, claim, date, credentials);
  if (!sameText(expected, claim.signature)) {
    throw denied(
      'SignatureDoesNotMatch',
      'The request signature we calculated does not match the signature you provided. Check your key and signing method.',
    );
  }
}

function checkToken({ token }: Claim, { credentials, now }: AuthenticationContext): void {
  const { sessionToken, expiration } = credentials;
  if (token === undefined && sessionToken === undefined) return;
  if (token === undefined || sessionToken === undefined || !sameText(token, sessionToken)) {
    throw new S3Error(400, 'InvalidToken', 'The provided token is malformed or otherwise invalid.');
  }
  if (expiration !== undefined && expiration.getTime() <= now) {
    throw new S3Error(400, 'ExpiredToken', 'The provided token has expired.');
  }
}

function checkRegion(claim: Claim, { region }: AuthenticationContext): void {
  if (region === undefined || region === claim.region) return;
  throw malformed(
    `The authorization header is malformed; the region '${claim.region}' is wrong; expecting '${region}'`,
    { Region: region },
  );
}

function dateOf({ date: text }: Claim): Date {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text ?? '');
  const [, year, month, dayOfMonth, hour, minute, second] = match ?? [];
  const date = new Date(`${year}-${month}-${dayOfMonth}T${hour}:${minute}:${second}Z`);
  if (!Number.isNaN(date.getTime())) return date;
  throw denied('AccessDenied', 'AWS authentication requires a valid Date or x-amz-date header');
}

/** Checks that a signed header is recent. */
function checkSkew({ date: text }: Claim, date: Date, { now }: AuthenticationContext): void {
  if (Math.abs(date.getTime() - now) <= MAX_SKEW_MS) return;
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

/** Checks that a presigned URL is valid now: neither too early nor expired. */
function checkExpiry(expiresIn: number, date: Date, { now }: AuthenticationContext): void {
  if (date.getTime() - now > MAX_SKEW_MS) throw accessDenied('Request is not yet valid');
  if (date.getTime() + expiresIn * 1000 < now) throw accessDenied('Request has expired');
}

/**
 * Checks that everything that decides about the request is signed. Otherwise others could change it in
 * transit.
 */
function checkSignedHeaders({ headers }: S3Target, { signedHeaders }: Claim): void {
  const unsigned = Object.keys(headers).filter(
    (name) => (name === 'host' || name.startsWith('x-amz-')) && !signedHeaders.includes(name),
  );
  if (unsigned.length === 0) return;
  throw new S3Error(403, 'AccessDenied', 'There were headers present in the request which were not signed', {
    elements: { HeadersNotSigned: unsigned.join(', ') },
  });
}

async function expectedSignature(
  { method, canonicalPath, query, headers }: S3Target,
  { signedHeaders, region, expiresIn }: Claim,
  signingDate: Date,
  { accessKeyId, secretAccessKey, sessionToken }: S3Credentials,
): Promise<string> {
  const signer = new SignatureV4({
    service: 's3',
    region,
    credentials: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) },
    sha256: Sha256,
    uriEscapePath: false,
    applyChecksum: false,
  });
  const signed: Record<string, string> = Object.fromEntries(
    signedHeaders.map((name) => [name, textOf(headers[name])]),
  );
  const unsigned = { method, protocol: 'http:', hostname: headers.host ?? '', path: canonicalPath };
  const signableHeaders = new Set(signedHeaders);
  if (expiresIn === undefined) {
    const request = { ...unsigned, query: valuesOf(query), headers: signed };
    const { headers: given } = await signer.sign(request, { signingDate, signableHeaders });
    return given['authorization']?.slice(-64) ?? '';
  }
  // A presigned URL says nothing about the body. A header does, which is not signed itself.
  const request = { ...unsigned, query: valuesOf(query), headers: { [PAYLOAD]: UNSIGNED, ...signed } };
  const { query: given } = await signer.presign(request, {
    signingDate,
    expiresIn,
    signableHeaders,
    unsignableHeaders: new Set([PAYLOAD]),
    unhoistableHeaders: new Set([PAYLOAD, ...signedHeaders]),
  });
  return String(given?.['X-Amz-Signature'] ?? '');
}

/** A name that occurs several times gets a list. */
function valuesOf(query: URLSearchParams): Record<string, string | string[]> {
  return Object.fromEntries(
    [...new Set(query.keys())].map((name) => {
      const values = query.getAll(name);
      return [name, values.length === 1 ? (values[0] ?? '') : values];
    }),
  );
}

function textOf(value: string | string[] | undefined): string {
  return Array.isArray(value) ? value.join(',') : (value ?? '');
}

function denied(code: string, message: string): S3Error {
  return new S3Error(403, code, message);
}
