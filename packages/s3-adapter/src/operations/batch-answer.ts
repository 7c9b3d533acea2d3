import type { IncomingHttpHeaders } from 'node:http';
import { Parser } from 'tar/parse';
import type { ReadEntry } from 'tar/read-entry';
import { headerOf } from '../http/answers.js';
import type { Sink } from '../http/exchange.js';
import { wrongAnswer } from '../http/failure.js';

/** A range that is asked for together with others. */
export interface BatchRead {
  /** As S3 has it. */
  readonly objectKey: string;
  readonly offset: number;
  readonly target: Uint8Array;
  /** The ETag that the object must have. */
  readonly version?: string | undefined;
}

/**
 * The most bytes of an entry beside its content: a header, one of pax with a key and an ETag, and what fills
 * the last block.
 */
const MOST_BESIDE = 4096;

/**
 * Puts the entries of an answer into the targets of a batch. The answer is a tar with an entry for each read,
 * in their order. An entry that is not exactly what its read asked for is passed over.
 */
export class BatchAnswer implements Sink {
  /** The reads whose targets have all of their bytes. */
  readonly served = new Set<BatchRead>();
  readonly #reads: Iterator<BatchRead, undefined>;
  readonly #parser: Parser;
  #status = 0;
  /** Bytes that the answer may still have. */
  #left = MOST_BESIDE;
  #isOver = false;

  constructor(reads: readonly BatchRead[]) {
    this.#reads = reads.values();
    for (const { target } of reads) this.#left += target.byteLength + MOST_BESIDE;
    this.#parser = new Parser({
      strict: true,
      maxMetaEntrySize: MOST_BESIDE,
      // It would unpack what is compressed. Nobody asks for that.
      zstd: false,
      maxDecompressionRatio: 1,
      onReadEntry: (entry) => this.#take(entry),
    });
    // Thrown in here, an error would leave the parser in the middle of its work.
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
    if (read === undefined || this.#isOver || !isOf(entry, read)) {
      entry.resume();
      return;
    }
    const { target } = read;
    let filled = 0;
    entry.on('data', (bytes) => {
      if (this.#isOver) return;
      target.set(bytes, filled);
      filled += bytes.byteLength;
      if (filled === target.byteLength) this.served.add(read);
    });
  }

  #assertRight(): void {
    if (this.#isOver) throw this.#wrong();
  }

  #wrong(): Error {
    return wrongAnswer(this.#status, 'MalformedBatch', 'the answer is not a tar of the objects', false);
  }
}

/** Whether an entry has the bytes of a read. One that is missing has another name. */
function isOf({ type, path, size, extended }: ReadEntry, { objectKey, target, version }: BatchRead): boolean {
  const etag = extended?.comment;
  const isVersion = etag !== undefined && (version === undefined || version === etag);
  return type === 'File' && path === objectKey && size === target.byteLength && isVersion;
}
