import { createHash, createHmac } from 'node:crypto';
import type { SignatureV4 } from '@smithy/signature-v4';

type HashConstructor = ConstructorParameters<typeof SignatureV4>[0]['sha256'];
type SourceData = Parameters<InstanceType<HashConstructor>['update']>[0];

/** SHA-256, or its HMAC, by Node's own OpenSSL, as the signer takes it. */
export class Sha256 {
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
