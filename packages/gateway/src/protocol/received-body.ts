import { createHash, type Hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { hashIn, incomplete, mismatch, PAYLOAD } from './bodies.js';
import {
  isChecksumAlgorithm,
  newChecksum,
  type ChecksumAlgorithm,
  type RunningChecksum,
} from './checksums.js';
import { outOfChunks, type Trailers } from './chunks.js';
import { S3Error } from './s3-error.js';

const CHECKSUM = 'x-amz-checksum-';
/** The hash header of a body in chunks with checksums at the end. */
const UNSIGNED_CHUNKS = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER';

/**
 * The body of a write as it arrives: decoded from its chunks, and compared with every hash that came with it.
 * The iteration completes only if all hashes match, so nothing may be published before that.
 */
export class ReceivedBody implements AsyncIterable<Uint8Array> {
  /** Bytes to expect. */
  readonly size: number;
  readonly #raw: AsyncIterable<Uint8Array>;
  readonly #headers: IncomingHttpHeaders;
  readonly #isChunked: boolean;
  readonly #sha256: { readonly hash: Hash; readonly value: string } | undefined;
  readonly #md5: { readonly hash: Hash; readonly value: string } | undefined;
  readonly #running = new Map<ChecksumAlgorithm, RunningChecksum>();
  readonly #checksums = new Map<ChecksumAlgorithm, string>();
  #failure: unknown;

  /**
   * @throws S3Error 411 `MissingContentLength`; 400 `InvalidDigest`, `InvalidRequest`; 501 `NotImplemented`
   * for chunks with a signature each.
   */
  constructor(raw: AsyncIterable<Uint8Array>, headers: IncomingHttpHeaders) {
    this.#raw = raw;
    this.#headers = headers;
    this.#isChunked = headers[PAYLOAD] === UNSIGNED_CHUNKS;
    this.size = sizeOf(headers);
    const sha256 = this.#isChunked ? undefined : hashIn(headers, headers.authorization !== undefined);
    this.#sha256 = sha256 === undefined ? undefined : { hash: createHash('sha256'), value: sha256 };
    const md5 = md5In(headers);
    this.#md5 = md5 === undefined ? undefined : { hash: createHash('md5'), value: md5 };
    const trailer = this.#isChunked ? headers['x-amz-trailer'] : undefined;
    for (const name of [...Object.keys(headers), String(trailer ?? '').toLowerCase()]) {
      const algorithm = name.slice(CHECKSUM.length);
      if (name.startsWith(CHECKSUM) && isChecksumAlgorithm(algorithm))
        this.#running.set(algorithm, newChecksum(algorithm));
    }
  }

  /** The verified checksums that came with the body, in base64. Complete once the body has ended. */
  get checksums(): ReadonlyMap<ChecksumAlgorithm, string> {
    return this.#checksums;
  }

  /** Why the iteration failed. Undefined if it did not. */
  get failure(): unknown {
    return this.#failure;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      const trailers: Trailers = new Map();
      const pieces = this.#isChunked ? outOfChunks(this.#raw, trailers) : this.#raw;
      let seen = 0;
      for await (const piece of pieces) {
        seen += piece.byteLength;
        if (seen > this.size) throw incomplete();
        this.#sha256?.hash.update(piece);
        this.#md5?.hash.update(piece);
        for (const checksum of this.#running.values()) checksum.update(piece);
        yield piece;
      }
      if (seen < this.size) throw incomplete();
      await this.#check(trailers);
    } catch (error) {
      this.#failure = error;
      throw error;
    }
  }

  async #check(trailers: Trailers): Promise<void> {
    if (this.#sha256 !== undefined && this.#sha256.hash.digest('hex') !== this.#sha256.value)
      throw mismatch();
    if (this.#md5 !== undefined && this.#md5.hash.digest('base64') !== this.#md5.value)
      throw badDigest('Content-MD5');
    const promised = this.#headers['x-amz-trailer'];
    if (this.#isChunked && typeof promised === 'string' && !trailers.has(promised.toLowerCase())) {
      throw new S3Error(
        400,
        'MalformedTrailerError',
        'The request contained trailing data that was not well-formed.',
      );
    }
    for (const [algorithm, checksum] of this.#running) {
      const name = `${CHECKSUM}${algorithm}`;
      const value = await checksum.value();
      if ((trailers.get(name) ?? this.#headers[name]) !== value) throw badDigest(algorithm.toUpperCase());
      this.#checksums.set(algorithm, value);
    }
  }
}

/**
 * Returns the length of a body without the overhead of its chunks.
 * @throws S3Error 411 `MissingContentLength`.
 */
export function sizeOf(headers: IncomingHttpHeaders): number {
  const isFramed = headers[PAYLOAD] === UNSIGNED_CHUNKS || headers['transfer-encoding'] !== undefined;
  const length = isFramed ? headers['x-amz-decoded-content-length'] : (headers['content-length'] ?? '0');
  if (typeof length === 'string' && /^\d{1,15}$/.test(length)) return Number(length);
  throw missingLength();
}

/** Makes the error of a body of unknown length. */
export function missingLength(): S3Error {
  return new S3Error(411, 'MissingContentLength', 'You must provide the Content-Length HTTP header.');
}

function md5In(headers: IncomingHttpHeaders): string | undefined {
  const md5 = headers['content-md5'];
  if (md5 === undefined) return undefined;
  if (typeof md5 === 'string' && Buffer.from(md5, 'base64').byteLength === 16) return md5;
  throw new S3Error(400, 'InvalidDigest', 'The Content-MD5 you specified is not valid.');
}

function badDigest(name: string): S3Error {
  return new S3Error(400, 'BadDigest', `The ${name} you specified did not match the calculated checksum.`);
}
