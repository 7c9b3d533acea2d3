import type { IncomingHttpHeaders } from 'node:http';
import { etagOf, headerOf, isStrong, lengthOf } from '../http/answers.js';
import { checksumIn, type Checksum } from '../http/checksums.js';
import type { S3Client, S3Request } from '../http/client.js';
import type { Sink } from '../http/exchange.js';
import { broken, changed, Failure, wrongAnswer } from '../http/failure.js';
import type { Tries } from '../http/retries.js';

/** How often a whole object may arrive corrupt. If it happens more often, it is corrupt on the server. */
const MOST_CORRUPT = 8;

/** Facts about the object of a read, known once the first answer has begun. */
export interface ObjectFacts {
  readonly etag: string;
  readonly size: number;
}

/** A range to read. */
export interface RangeRequest {
  readonly key: string;
  readonly offset: number;
  /** Bytes to read, at least one. */
  readonly length: number;
  /**
   * Returns memory for as many bytes as the range turns out to have. Called again when a read starts over.
   */
  readonly memory: (bytes: number) => Uint8Array;
  /** The ETag that the object must have. */
  readonly version: string | undefined;
  /** The size that the object must have, if already known. */
  readonly size?: number | undefined;
  readonly signal: AbortSignal | undefined;
  /** Called with the number of final bytes in memory, unless only a checksum at the end decides that. */
  readonly progress?: ((bytes: number) => void) | undefined;
  /**
   * Whether to request the whole object, because it begins with the range: only then do servers send its
   * checksum.
   */
  readonly asWhole?: boolean | undefined;
  /** Called once, when the first answer has begun, before it has memory. */
  readonly started?: ((facts: ObjectFacts) => void) | undefined;
}

/**
 * Reads a range into memory, over as many requests as needed. After a failure it resumes at the byte where it
 * broke. All of it is of one version: the requested one, or else that of the first answer.
 */
export class RangedRead implements Sink {
  readonly #client: S3Client;
  readonly #range: RangeRequest;
  #tries: Tries | undefined;
  #target: Uint8Array = new Uint8Array();
  #etag: string | undefined;
  #size: number | undefined;
  /** Valid bytes in the target. */
  #filled = 0;
  /** Whether bytes were reported as final. Then they can no longer be discarded. */
  #isTold = false;
  /** Bytes of the present answer before the range. */
  #skip = 0;
  /** Bytes of the present answer still to come. */
  #left = 0;
  #isWhole = false;
  #checksum: Checksum | undefined;
  #corrupt = 0;

  constructor(client: S3Client, range: RangeRequest) {
    this.#client = client;
    this.#range = range;
    this.#size = range.size;
  }

  /** Bytes of the whole object, once an answer has begun. */
  get size(): number | undefined {
    return this.#size;
  }

  /**
   * Reads the range, and returns the number of bytes. It is less than requested only at the end of the
   * object.
   */
  async run(): Promise<number> {
    await this.#client.retry(this.#range.signal, (tries) => this.#attempt(tries));
    return this.#filled;
  }

  start(status: number, headers: IncomingHttpHeaders): void {
    const { first, last, size } = rangeIn(status, headers);
    const from = this.#from;
    this.#isWhole = status === 200;
    if (!this.#isWhole && (first !== from || last !== Math.min(this.#end, size) - 1))
      throw wrongAnswer(status, 'WrongRange', 'the server sent a range other than the requested one');
    this.#pin(status, headers, size);
    this.#skip = from - first;
    this.#left = Math.max(0, Math.min(this.#end, size) - from);
    if (this.#filled === 0) this.#target = this.#range.memory(this.#left);
    if (first === 0 && last === size - 1) this.#checksum = checksumIn(headers);
  }

  data(chunk: Buffer): boolean {
    const skipped = Math.min(this.#skip, chunk.byteLength);
    this.#skip -= skipped;
    const taken = Math.min(this.#left, chunk.byteLength - skipped);
    if (taken > 0) {
      const bytes = taken === chunk.byteLength ? chunk : chunk.subarray(skipped, skipped + taken);
      this.#target.set(bytes, this.#filled);
      this.#filled += taken;
      this.#left -= taken;
      this.#tries?.progress(taken);
      // With a checksum they may turn out to be corrupt, and be fetched again.
      if (this.#checksum === undefined) this.#tell();
    }
    return !(this.#isWhole && this.#left === 0 && this.#from < (this.#size ?? 0));
  }

  end(): void {
    if (this.#left > 0) throw broken('ShortBody', 'the server sends fewer bytes than it announces');
  }

  #tell(): void {
    const { progress } = this.#range;
    if (progress === undefined) return;
    this.#isTold = true;
    progress(this.#filled);
  }

  get #from(): number {
    return this.#range.offset + this.#filled;
  }

  /** The end of the range, if known. */
  get #end(): number {
    return Math.min(this.#range.offset + this.#range.length, this.#size ?? Infinity);
  }

  async #attempt(tries: Tries): Promise<void> {
    this.#tries = tries;
    if (this.#from < this.#end && !(await this.#fetch())) return;
    await this.#verify();
  }

  /** Makes one request for the missing bytes. False if the range begins at or after the end of the object. */
  async #fetch(): Promise<boolean> {
    const { key, asWhole, signal } = this.#range;
    const etag = this.#etag ?? this.#range.version;
    const request: S3Request = {
      method: 'GET',
      key,
      headers: {
        ...(asWhole === true && this.#from === 0
          ? { 'x-amz-checksum-mode': 'ENABLED' }
          : { range: `bytes=${this.#from}-${this.#end - 1}` }),
        ...(etag !== undefined && isStrong(etag) && { 'if-match': etag }),
      },
    };
    try {
      await this.#client.send(request, this, signal);
      return true;
    } catch (error) {
      if (!(error instanceof Failure) || error.details.status !== 416) throw error;
      if (etag !== undefined) await this.#assertEnds(etag);
      return false;
    }
  }

  /** A server may check the range before the ETag, so the version that ends here must be checked. */
  async #assertEnds(etag: string): Promise<void> {
    const { key, signal } = this.#range;
    const { headers } = await this.#client.send({ method: 'HEAD', key }, undefined, signal);
    if (etagOf(headerOf(headers, 'etag') ?? '') !== etag) throw changed(416);
    const size = lengthOf(headers);
    if (size !== undefined) this.#assertSize(416, size);
    if (this.#size !== undefined || (size ?? Infinity) > this.#from)
      throw wrongAnswer(416, 'InvalidRange', 'the server refuses a range within the object');
  }

  #pin(status: number, headers: IncomingHttpHeaders, size: number): void {
    const sent = headerOf(headers, 'etag');
    if (sent === undefined)
      throw wrongAnswer(
        status,
        'NoETag',
        'the server sends no ETag, without which versions could be mixed',
        false,
      );
    const etag = etagOf(sent);
    const expected = this.#etag ?? this.#range.version;
    if (expected !== undefined && etag !== expected) throw changed(status);
    this.#etag = etag;
    this.#assertSize(status, size);
    if (this.#size !== undefined) return;
    this.#size = size;
    this.#range.started?.({ etag, size });
  }

  /** Two sizes mean two objects, even if their ETags look the same, as weak ones may. */
  #assertSize(status: number, size: number): void {
    if (this.#size === undefined || this.#size === size) return;
    const { started, size: expected } = this.#range;
    // Other parts rely on the first size.
    if (this.#isTold || started !== undefined || expected !== undefined) throw changed(status);
    throw this.#startingAnew('SizeChanged', 'the server gave two sizes of one version');
  }

  /** Compares the object with its checksum, if all of it was read and the server sent one. */
  async #verify(): Promise<void> {
    if (this.#checksum === undefined || this.#filled !== this.#size) return;
    const bytes = this.#target.subarray(0, this.#filled);
    if (await this.#checksum.matches(bytes)) return;
    throw this.#startingAnew('ChecksumMismatch', 'the bytes do not have the checksum of the object');
  }

  /**
   * Discards the bytes read so far, because it is unknown which are wrong. If bytes were reported as final,
   * the read fails for good. These restarts are counted separately: bytes fetched again count as progress, so
   * it might go on forever.
   */
  #startingAnew(code: string, advice: string): Failure {
    this.#filled = 0;
    this.#corrupt += 1;
    const retryable = !this.#isTold && this.#corrupt < Math.min(this.#client.attempts, MOST_CORRUPT);
    // Other parts may have begun because of this size.
    if (this.#range.started === undefined) this.#size = undefined;
    return wrongAnswer(200, code, advice, retryable);
  }
}

interface AnsweredRange {
  readonly first: number;
  readonly last: number;
  readonly size: number;
}

/**
 * The bytes that an answer says it contains. A server that does not support ranges answers 200 with the whole
 * object.
 */
function rangeIn(status: number, headers: IncomingHttpHeaders): AnsweredRange {
  const length = lengthOf(headers);
  if (status === 200 && length !== undefined) return { first: 0, last: length - 1, size: length };
  const match = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(headerOf(headers, 'content-range') ?? '');
  const [first, last, size] = (match ?? []).slice(1).map(Number);
  const isWhole = first !== undefined && last !== undefined && size !== undefined;
  // If there are fewer bytes than the range has, they are taken and the rest is requested. More bytes cannot
  // be part of it.
  if (status !== 206 || !isWhole || (length ?? 0) > last - first + 1)
    throw wrongAnswer(status, 'WrongRange', 'the answer does not name the bytes that it has');
  return { first, last, size };
}
