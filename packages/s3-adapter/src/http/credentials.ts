import { TieredError, type Clock, type SleepOptions } from '@tiered/core';
import { raceAbort } from '@tiered/core/internal';
import { broken } from './failure.js';
import { wallTime } from './wall-time.js';

/** The credentials that sign requests. */
export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Only temporary credentials have one. */
  readonly sessionToken?: string | undefined;
  /** When the credentials expire. Renewal starts 5 minutes before that. Default: never. */
  readonly expiration?: Date | undefined;
}

/** The source of the credentials. */
export type CredentialsSource = S3Credentials | (() => Promise<S3Credentials>) | 'anonymous' | undefined;

const RENEWED_BEFORE_END_MS = 5 * 60_000;
const PROVIDERS = '@aws-sdk/credential-providers';
const PUBLIC =
  'For a public bucket say "anonymous: true" in a configuration, or credentials: "anonymous" in code.';

/** Keeps credentials as long as they are valid. Concurrent requests share one fetch. */
export class CredentialStore {
  readonly #fetch: (() => Promise<S3Credentials>) | undefined;
  readonly #clock: Clock;
  readonly #patienceMs: number;
  #kept: S3Credentials | undefined;
  #endsAt = Infinity;
  #fetching: Promise<S3Credentials> | undefined;

  /** @param patienceMs Milliseconds for which a request waits for credentials. */
  constructor(source: CredentialsSource, profile: string | undefined, clock: Clock, patienceMs: number) {
    this.#clock = clock;
    this.#patienceMs = patienceMs;
    if (typeof source === 'object') this.#kept = source;
    else if (source !== 'anonymous')
      this.#fetch = source === undefined ? () => defaultCredentials(profile) : () => provided(source);
  }

  /**
   * Returns the credentials. Undefined if requests are not signed. Credentials are used until they expire, so
   * no request waits for their renewal.
   * @throws TieredError `TIERED_PERMISSION` if there are no credentials.
   * @throws Failure `CredentialsTimeout`, retryable, if they do not arrive in time.
   */
  async get(signal: AbortSignal | undefined): Promise<S3Credentials | undefined> {
    if (this.#fetch === undefined) return this.#kept;
    const leftMs = this.#endsAt - this.#clock.now();
    if (this.#kept !== undefined && leftMs > RENEWED_BEFORE_END_MS) return this.#kept;
    if (this.#kept === undefined || leftMs <= 0) return this.#inTime(this.#renewed(this.#fetch), signal);
    // A renewal that takes too long is dropped, so that another one has begun when these credentials expire.
    // If it fails, requests that need credentials then get its error.
    if (this.#fetching === undefined)
      this.#inTime(this.#renewed(this.#fetch), undefined, { background: true }).catch(() => undefined);
    return this.#kept;
  }

  /** Drops credentials that the server calls expired. False if there can be no others. */
  discard(expired: S3Credentials): boolean {
    if (this.#fetch === undefined) return false;
    if (this.#kept === expired) this.#kept = undefined;
    return true;
  }

  #renewed(fetch: () => Promise<S3Credentials>): Promise<S3Credentials> {
    if (this.#fetching !== undefined) return this.#fetching;
    const fetching = this.#fetchOnce(fetch).finally(() => this.#forget(fetching));
    this.#fetching = fetching;
    return fetching;
  }

  /** Waits for credentials until they arrive, the signal aborts, or the time is up. */
  async #inTime(
    fetching: Promise<S3Credentials>,
    signal: AbortSignal | undefined,
    options?: SleepOptions,
  ): Promise<S3Credentials> {
    const timer = new AbortController();
    const late = this.#clock.sleep(this.#patienceMs, timer.signal, options).then(() => {
      // The next request asks again: a provider that hangs once need not hang again.
      this.#forget(fetching);
      throw broken('CredentialsTimeout', 'the credentials did not come in time; check their provider');
    });
    try {
      return await raceAbort(Promise.race([fetching, late]), signal);
    } finally {
      timer.abort();
    }
  }

  #forget(fetching: Promise<S3Credentials>): void {
    if (this.#fetching === fetching) this.#fetching = undefined;
  }

  async #fetchOnce(fetch: () => Promise<S3Credentials>): Promise<S3Credentials> {
    try {
      const credentials = await fetch();
      assertComplete(credentials);
      const { expiration } = credentials;
      const leftMs = expiration === undefined ? Infinity : expiration.getTime() - wallTime();
      this.#endsAt = this.#clock.now() + leftMs;
      this.#kept = credentials;
      return credentials;
    } catch (error) {
      // The present credentials are valid for up to 5 more minutes. The server will say when they are not.
      if (this.#kept !== undefined) return this.#kept;
      throw error;
    }
  }
}

function assertComplete(credentials: S3Credentials): void {
  if (
    typeof credentials?.accessKeyId === 'string' &&
    typeof credentials.secretAccessKey === 'string' &&
    (credentials.expiration === undefined || credentials.expiration instanceof Date)
  )
    return;
  throw new TieredError(
    'TIERED_CONFIG_INVALID',
    'credentials: expected accessKeyId and secretAccessKey, and expiration, if any, as a Date.',
  );
}

/**
 * Calls a provider, which is foreign code. Only names of its error are kept: its text, and even the error
 * itself, may contain data sent to or received from a token service.
 */
async function provided(provider: () => Promise<S3Credentials>): Promise<S3Credentials> {
  try {
    return await provider();
  } catch (error) {
    throw new TieredError(
      'TIERED_PERMISSION',
      `No credentials for S3 (${nameOf(error)}): set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. ` +
        `${PUBLIC} The message of the provider is not repeated, because it may hold secrets; ` +
        '"aws sts get-caller-identity" shows it for those of AWS, a call of your own for others.',
    );
  }
}

/** The kind of an error, if it is a name: a class, or a code of the system. */
function nameOf(error: unknown): string {
  const { name, code } = (error ?? {}) as { readonly name?: unknown; readonly code?: unknown };
  const isClass = typeof name === 'string' && /^[A-Za-z]{1,64}(Error|Exception)$/.test(name);
  const isCode = typeof code === 'string' && /^E[A-Z]{2,20}$/.test(code);
  return [isClass ? name : 'an error', ...(isCode ? [code] : [])].join(' ');
}

/** Finds credentials like AWS's own tools. A given profile takes precedence over the environment. */
async function defaultCredentials(profile: string | undefined): Promise<S3Credentials> {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
  } = process.env;
  if (profile === undefined && accessKeyId && secretAccessKey)
    return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
  const { fromNodeProviderChain } = await importProviders();
  return provided(async () => fromNodeProviderChain(profile === undefined ? {} : { profile })());
}

async function importProviders(): Promise<typeof import('@aws-sdk/credential-providers')> {
  try {
    return await import('@aws-sdk/credential-providers');
  } catch (cause) {
    throw new TieredError(
      'TIERED_CONFIG_INVALID',
      `Credentials from profiles, roles and SSO need the package ${PROVIDERS}: npm install ${PROVIDERS}. Without it, set ` +
        'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the option credentials ("anonymous" for a public bucket).',
      { cause },
    );
  }
}
