import type { IncomingHttpHeaders } from 'node:http';
import { Parser } from 'tar/parse';
import type { ReadEntry } from 'tar/read-entry';
import { headerOf } from '../http/answers.js';
import type { Sink } from '../http/exchange.js';
import type { Checksum } from '@tiered/core/internal';
import { changed, Failure, wrongAnswer } from '../http/failure.js';

/** A range that is requested together with others. */
export interface BatchRead {
  /** The key in S3. */
  readonly objectKey: string;
  readonly offset: number;
  readonly target: Uint8Array;
  /** The ETag that the object must have. */
  readonly version?: string | undefined;
}

/**
 * The most bytes of an entry besides its content: a header, a pax header with a key and an ETag, and the
 * padding of the last block.
 */
const MOST_BESIDE = 4096;

/** Prefix of the names of missing entries, as in AIStore. */
const MISSING = '__404__/';

/**
 * Puts the entries of an answer into the targets of a batch. The answer is a tar with an entry for each read,
 * in order. An entry that does not exactly match its read is skipped.
 */
export class BatchAnswer implements Sink {
  /** The reads whose targets have all their bytes. */
  readonly served = new Set<BatchRead>();
  /** The problems of entries that do not match their reads, if they say so. */
  readonly failures = new Map<BatchRead, Failure>();
  readonly #reads: Iterator<BatchRead, undefined>;
  readonly #checksum: Checksum | undefined;
  readonly #parser: Parser;
  #status = 0;
  /** Bytes that the answer may still have. */
  #left = MOST_BESIDE;
  #isOver = false;

  /** @param checksum The checksum that entries must come with. Undefined if they need none. */
  constructor(reads: readonly BatchRead[], checksum: Checksum | undefined) {
    this.#reads = reads.values();
    this.#checksum = checksum;
    for (const { target } of reads) this.#left += target.byteLength + MOST_BESIDE;
    this.#parser = new Parser({
      strict: true,
      maxMetaEntrySize: MOST_BESIDE,
      // It would unpack compressed data, which is never requested.
      zstd: false,
      maxDecompressionRatio: 1,
      onReadEntry: (entry) => this.#take(entry),
    });
    // Thrown in here, an error would stop the parser midway.
    this.#parser.on('error', () => this.close());
  }

  start(status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    if (headerOf(headers, 'content-type') !== 'application/x-tar') throw this.#wrong();
  }

  data(chunk: Buffer): boolean {
    this.#left -= chunk.byteLength;
    if (this.#left < 0) throw this.#wrong();
    this.#parser.write(chunk);
    this.#assertRight();
    return true;
  }

  end(): void {
    this.#parser.end();
    this.#assertRight();
  }

  /** No target is written to any more. */
  close(): void {
    this.#isOver = true;
  }

  #take(entry: ReadEntry): void {
    const read = this.#reads.next().value;
    const failure = read === undefined || this.#isOver ? OTHER : failureOf(entry, read);
    if (read === undefined || failure !== undefined) {
      if (read !== undefined && failure !== undefined && failure !== OTHER) this.failures.set(read, failure);
      entry.resume();
      return;
    }
    const { target } = read;
    let filled = 0;
    entry.on('data', (bytes) => {
      if (this.#isOver) return;
      target.set(bytes, filled);
      filled += bytes.byteLength;
      if (filled === target.byteLength) this.#came(entry, read);
    });
  }

  /** Called when all bytes of an entry are in its target. */
  #came({ extended }: ReadEntry, read: BatchRead): void {
    const sum = extended?.comment?.split(' ')[1];
    const isRight = this.#checksum === undefined || this.#checksum.bytes(read.target).toString(16) === sum;
    if (isRight) this.served.add(read);
    else
      this.failures.set(
        read,
        wrongAnswer(this.#status, 'BadDigest', 'its checksum is not that of its bytes', false),
      );
  }

  #assertRight(): void {
    if (this.#isOver) throw this.#wrong();
  }

  #wrong(): Error {
    return wrongAnswer(this.#status, 'MalformedBatch', 'the answer is not a tar of the objects', false);
  }
}

/** An entry that does not match its read, and does not say why. */
const OTHER = wrongAnswer(200, 'OtherEntry', '', false);

/** Why an entry does not have the bytes of a read. Undefined if it has them. */
function failureOf(
  { type, path, size, extended }: ReadEntry,
  { objectKey, target, version }: BatchRead,
): Failure | undefined {
  const [etag] = extended?.comment?.split(' ', 1) ?? [];
  if (path === MISSING + objectKey) return MEANT[etag ?? '']?.() ?? OTHER;
  if (type !== 'File' || path !== objectKey || etag === undefined) return OTHER;
  if (version !== undefined && version !== etag) return changed(200);
  return size === target.byteLength ? undefined : OTHER;
}

/** Meanings of the statuses of missing entries. Ranges are of known sizes, so 416 means another object. */
const MEANT: Readonly<Record<string, () => Failure>> = {
  404: missing,
  412: () => changed(412),
  416: () => changed(416),
};

function missing(): Failure {
  return new Failure({
    status: 404,
    code: 'NoSuchKey',
    means: 'TIERED_NOT_FOUND',
    advice: 'it is not there',
  });
}
