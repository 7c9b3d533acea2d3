import { createHash, createHmac } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';
import type { S3Credentials } from './credentials.js';
import type { Endpoint } from './endpoint.js';
import type { Failure } from './failure.js';
import { wallTime } from './wall-time.js';

/** The signed parts of a request. */
export interface Signable {
  readonly method: string;
  /** Encoded. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Including the Host header. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
}

const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
/** Clock skew between server and client that may explain a 403 without a body. S3 refuses 15 minutes. */
const SUSPICIOUS_SKEW_MS = 5 * 60_000;

/** Signs requests with AWS Signature Version 4, at the server's time. */
export class Signer {
  readonly #endpoint: Endpoint;
  #signature: SignatureV4 | undefined;
  #credentials: S3Credentials | undefined;
  #offsetMs = 0;

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint;
  }

  /** Returns the request's headers, signed. */
  async sign(request: Signable, credentials: S3Credentials): Promise<Readonly<Record<string, string>>> {
    const { method, path, query, headers, body } = request;
    const { hostname, protocol } = this.#endpoint;
    const signed = await this.#signatureFor(credentials).sign(
      {
        method,
        protocol,
        hostname,
        path,
        query: { ...query },
        headers: {
          ...headers,
          'x-amz-content-sha256':
            body === undefined ? EMPTY_SHA256 : createHash('sha256').update(body).digest('hex'),
        },
      },
      { signingDate: new Date(wallTime() + this.#offsetMs) },
    );
    return signed.headers;
  }

  /** Corrects the time after an answer that reports it as wrong. False if the time was not the problem. */
  correctTime({ details: { status, code, serverTimeMs } }: Failure): boolean {
    if (status !== 403 || serverTimeMs === undefined) return false;
    const offsetMs = serverTimeMs - wallTime();
    const isSkewed =
      code === 'RequestTimeTooSkewed' ||
      // The answer to a HEAD has no body that would say so.
      (code === 'HTTP_403' && Math.abs(offsetMs - this.#offsetMs) > SUSPICIOUS_SKEW_MS);
    if (isSkewed) this.#offsetMs = offsetMs;
    return isSkewed;
  }

  #signatureFor(credentials: S3Credentials): SignatureV4 {
    if (this.#signature === undefined || this.#credentials !== credentials) {
      this.#credentials = credentials;
      const { accessKeyId, secretAccessKey, sessionToken } = credentials;
      this.#signature = new SignatureV4({
        // Their expiry is checked elsewhere.
        credentials: { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) },
        region: this.#endpoint.region,
        service: 's3',
        sha256: Sha256,
        // The path is already encoded, and S3 does not want it normalised.
        uriEscapePath: false,
        applyChecksum: false,
      });
    }
    return this.#signature;
  }
}

type HashConstructor = ConstructorParameters<typeof SignatureV4>[0]['sha256'];
type SourceData = Parameters<InstanceType<HashConstructor>['update']>[0];

/** SHA-256 or its HMAC, computed by Node's own OpenSSL, in the form that the signer needs. */
class Sha256 {
  readonly #secret: Uint8Array | undefined;
  #hash;

  constructor(secret?: SourceData) {
    this.#secret = secret === undefined ? undefined : bytesOf(secret);
    this.#hash = this.#start();
  }

  update(data: SourceData): void {
    this.#hash.update(bytesOf(data));
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }

  reset(): void {
    this.#hash = this.#start();
  }

  #start() {
    return this.#secret === undefined ? createHash('sha256') : createHmac('sha256', this.#secret);
  }
}

function bytesOf(data: SourceData): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data, 'utf8');
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}
