import { S3Error } from './s3-error.js';
import type { S3Target } from './requests.js';

/** What a request says about its signature, in a header or in the query of a presigned URL. */
export interface Claim {
  readonly accessKeyId: string;
  readonly day: string;
  readonly region: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
  /** When it was signed, as written. */
  readonly date: string | undefined;
  readonly token: string | undefined;
  /** Seconds for which a presigned URL is valid. Undefined for a header. */
  readonly expiresIn: number | undefined;
}

/** The longest time that a presigned URL is valid: seven days, in seconds. */
const LONGEST = 7 * 24 * 60 * 60;

/** Whether a request claims to be signed. */
export function isSigned({ headers, query }: S3Target): boolean {
  return headers.authorization !== undefined || isPresigned(query);
}

/**
 * Returns what a signed request says about its signature.
 * @throws S3Error `AuthorizationHeaderMalformed`, or `AuthorizationQueryParametersError`.
 */
export function claimOf({ headers, query }: S3Target): Claim {
  if (headers.authorization === undefined) return claimInQuery(query);
  const match =
    /^AWS4-HMAC-SHA256 +Credential=([^, ]+), *SignedHeaders=([^, ]+), *Signature=([0-9a-f]{64})$/.exec(
      headers.authorization,
    );
  const [, credential = '', signedHeaders = '', signature = ''] = match ?? [];
  const scope = scopeIn(credential);
  if (scope === undefined) throw malformed('The authorization header that you provided is not valid.');
  const [date, token] = [headers['x-amz-date'], headers['x-amz-security-token']].map((value) =>
    typeof value === 'string' ? value : undefined,
  );
  return {
    ...scope,
    signature,
    signedHeaders: signedHeaders.split(';'),
    date,
    token,
    expiresIn: undefined,
  };
}

function isPresigned(query: URLSearchParams): boolean {
  return query.size > 0 && (query.has('X-Amz-Signature') || query.has('X-Amz-Algorithm'));
}

function claimInQuery(query: URLSearchParams): Claim {
  const given = (name: string) => query.get(`X-Amz-${name}`) ?? '';
  const scope = scopeIn(given('Credential'));
  const [signature, expires] = [given('Signature'), given('Expires')];
  const isWhole = given('Algorithm') === 'AWS4-HMAC-SHA256' && /^[0-9a-f]{64}$/.test(signature);
  if (scope === undefined || !isWhole || given('SignedHeaders') === '')
    throw wrongQuery('The query of a presigned URL is not complete, or not well-formed.');
  const expiresIn = /^\d{1,6}$/.test(expires) ? Number(expires) : 0;
  if (expiresIn < 1 || expiresIn > LONGEST)
    throw wrongQuery(`X-Amz-Expires must be a number of seconds from 1 to ${LONGEST}.`);
  return {
    ...scope,
    signature,
    signedHeaders: given('SignedHeaders').split(';'),
    date: given('Date'),
    token: query.get('X-Amz-Security-Token') ?? undefined,
    expiresIn,
  };
}

function scopeIn(credential: string): Pick<Claim, 'accessKeyId' | 'day' | 'region'> | undefined {
  const [accessKeyId = '', day = '', region = '', service, end, ...more] = credential.split('/');
  if (service !== 's3' || end !== 'aws4_request' || more.length > 0) return undefined;
  return { accessKeyId, day, region };
}

/** Makes the error of a malformed Authorization header. */
export function malformed(message: string, elements: Readonly<Record<string, string>> = {}): S3Error {
  return new S3Error(400, 'AuthorizationHeaderMalformed', message, { elements });
}

function wrongQuery(message: string): S3Error {
  return new S3Error(400, 'AuthorizationQueryParametersError', message);
}
