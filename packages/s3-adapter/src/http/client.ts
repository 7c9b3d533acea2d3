import { Random, type Clock } from '@tiered/core';
import type { Dispatcher } from 'undici';
import { headerOf, LARGEST_ANSWER_BYTES, type Answer } from './answers.js';
import { Connection } from './connection.js';
import { CredentialStore, type S3Credentials } from './credentials.js';
import { BATCH_PATH, type Endpoint, type RequestPlace } from './endpoint.js';
import type { Sink } from './exchange.js';
import { Failure } from './failure.js';
import { encodeKey, encodeQuery } from './keys.js';
import { AdaptiveLimiter } from './limiter.js';
import type { CheckedS3Options } from '../options.js';
import { withRetries, type Tries } from './retries.js';
import { Signer } from './signer.js';

/** A request before it is signed. */
export interface S3Request {
  readonly method: Dispatcher.HttpMethod;
  /** The key of the object. Undefined for the bucket. */
  readonly key?: string | undefined;
  /** Whether the request is for many objects. Then it has no key. Default: false. */
  readonly isBatch?: boolean | undefined;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: Uint8Array | undefined;
  /**
   * Milliseconds beyond `timeoutMs` for which the server may be silent, or send blanks, while it works.
   * Default: 0.
   */
  readonly workMs?: number | undefined;
  /**
   * Most bytes of an answer's body without a sink. Default: enough for every answer that is not a listing.
   */
  readonly answerBytes?: number | undefined;
  /**
   * Whether an abort waits for the answer once the request has been sent, because its effect would be unknown
   * otherwise. Default: false.
   */
  readonly isAwaited?: boolean | undefined;
}

const EXPIRED = new Set(['ExpiredToken', 'ExpiredTokenException', 'TokenRefreshRequired']);

/** Talks to the server: signs requests, retries them, and limits how many are in flight. */
export class S3Client {
  /** Attempts at a request that makes no progress. */
  readonly attempts: number;
  readonly clock: Clock;
  readonly #endpoint: Endpoint;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #credentials: CredentialStore;
  readonly #signer: Signer;
  readonly #connection: Connection;
  readonly #limiter: AdaptiveLimiter;
  readonly #random: Random;
  readonly #deadlineMs: number;
  readonly #leastBytesPerSecond: number;
  readonly #firstAttempts: number;
  #hasAnswered = false;
  #offersBatches = false;

  constructor(endpoint: Endpoint, options: CheckedS3Options) {
    const { headers, credentials, profile, clock, concurrency, timeoutMs, deadlineMs } = options;
    const { leastBytesPerSecond, proxy } = options;
    this.#endpoint = endpoint;
    this.#headers = options.requesterPays ? { ...headers, 'x-amz-request-payer': 'requester' } : headers;
    this.#credentials = new CredentialStore(credentials, profile, clock, deadlineMs);
    this.#signer = new Signer(endpoint);
    this.#connection = new Connection(endpoint, {
      connections: concurrency,
      proxy,
      silenceMs: Math.min(timeoutMs, deadlineMs),
      leastBytesPerSecond,
      clock,
    });
    this.#limiter = new AdaptiveLimiter(concurrency);
    this.#random = new Random(options.seed);
    this.attempts = options.attempts;
    this.#firstAttempts = options.firstAttempts;
    this.#deadlineMs = deadlineMs;
    this.#leastBytesPerSecond = leastBytesPerSecond;
    this.clock = clock;
  }

  /** Open connections, or 0 if unknown. */
  get openConnections(): number {
    return this.#connection.open ?? 0;
  }

  /** The current limit on concurrent requests. */
  get concurrency(): number {
    return this.#limiter.concurrency;
  }

  /** Whether the server's last answer said that it returns many objects in one answer. */
  get offersBatches(): boolean {
    return this.#offersBatches;
  }

  /** Makes a request, in as many attempts as needed, and returns its whole answer. */
  request(request: S3Request, signal: AbortSignal | undefined): Promise<Answer> {
    return this.retry(signal, () => this.send(request, undefined, signal));
  }

  /** Makes the caller's own attempts, each in its turn. */
  retry<T>(signal: AbortSignal | undefined, attempt: (tries: Tries) => Promise<T>): Promise<T> {
    const retries = {
      mostAttempts: () => (this.#hasAnswered ? this.attempts : this.#firstAttempts),
      deadlineMs: this.#deadlineMs,
      leastBytesPerSecond: this.#leastBytesPerSecond,
      clock: this.clock,
      random: this.#random,
      limiter: this.#limiter,
    };
    return withRetries(retries, signal, attempt);
  }

  /** Like `retry`, with one attempt. */
  once<T>(signal: AbortSignal | undefined, attempt: () => Promise<T>): Promise<T> {
    return this.#limiter.run(signal, attempt);
  }

  /**
   * Makes one attempt. If the clock or the credentials were wrong and can be corrected, the request is
   * repeated at once, but only once.
   */
  async send(request: S3Request, sink: Sink | undefined, signal: AbortSignal | undefined): Promise<Answer> {
    const credentials = await this.#credentials.get(signal);
    try {
      return await this.#sendAs(credentials, request, sink, signal);
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof Failure) || credentials === undefined) throw error;
      if (!this.#signer.correctTime(error) && !this.#renews(error, request, credentials)) throw error;
      return this.#sendAs(await this.#credentials.get(signal), request, sink, signal);
    }
  }

  /** Closes every connection. */
  close(): Promise<void> {
    return this.#connection.close();
  }

  #renews({ details }: Failure, { method }: S3Request, credentials: S3Credentials): boolean {
    const { code, status } = details;
    // The answer to a HEAD has no body that would say so.
    const hasExpired =
      EXPIRED.has(code) || (method === 'HEAD' && status === 400 && credentials.sessionToken !== undefined);
    return hasExpired && this.#credentials.discard(credentials);
  }

  #placeOf({ key, isBatch = false }: S3Request): RequestPlace {
    const { host, basePath, batches } = this.#endpoint;
    if (isBatch) return batches;
    const slash = key === undefined && basePath !== '' ? '' : '/';
    return { host, path: `${basePath}${slash}${encodeKey(key ?? '')}` };
  }

  async #sendAs(
    credentials: S3Credentials | undefined,
    request: S3Request,
    sink: Sink | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    const { method, query = {}, headers, body, workMs = 0, isAwaited = false } = request;
    const { answerBytes = LARGEST_ANSWER_BYTES } = request;
    const { host, path } = this.#placeOf(request);
    const all = { ...this.#headers, ...headers, host };
    const signed =
      credentials === undefined
        ? all
        : await this.#signer.sign({ method, path, query, headers: all, body }, credentials);
    signal?.throwIfAborted();
    const search = encodeQuery(query);
    const target = search === '' ? path : `${path}?${search}`;
    const wire = { method, path: target, headers: signed, body, workMs, answerBytes };
    try {
      const answer = await this.#connection.send(wire, sink, isAwaited ? undefined : signal);
      this.#hasAnswered = true;
      this.#offersBatches = headerOf(answer.headers, 'x-tiered-batch') === BATCH_PATH;
      return answer;
    } catch (error) {
      if (error instanceof Failure && error.details.status !== undefined) this.#hasAnswered = true;
      throw error;
    }
  }
}
