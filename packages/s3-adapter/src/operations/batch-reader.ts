import type { ReadOutcome } from '@tiered/core/driver';
import type { S3Client, S3Request } from '../http/client.js';
import { Failure } from '../http/failure.js';
import { BatchAnswer, type BatchRead } from './batch-answer.js';

/** Larger ranges are read singly: the request costs little beside their bytes. */
const MOST_OF_ONE = 2 ** 20;
/** Bytes of the ranges of one request. A connection that breaks costs these at most. */
const MOST_BYTES = 16 * 2 ** 20;
/** Ranges of one request. With the longest keys its body has 1.6 MB; the gateway takes 2 MiB. */
const MOST_ITEMS = 256;
/** What S3 allows. */
const LONGEST_KEY = 1024;
/** Keys that readers of tar do not take for that of a file, or do not read whole. */
const NOT_IN_TAR = /\/$|\n/;

/**
 * Reads small ranges of many objects in one request, from endpoints that say that they give them: GetBatch of
 * AIStore, with ETags.
 */
export class BatchReader {
  readonly #client: S3Client;
  #isRefused = false;

  constructor(client: S3Client) {
    this.#client = client;
  }

  /** Whether the endpoint gives batches, as far as its answers told. */
  get isOffered(): boolean {
    return this.#client.offersBatches && !this.#isRefused;
  }

  /**
   * Makes the reads, in as few requests as it takes. What a batch does not give exactly as it was asked for
   * is read singly, once. So only single reads explain errors, and wait and repeat. Does not reject.
   * @param reads Each an object of its own.
   * @param readOne Makes a read by itself. Does not reject.
   */
  async readMany<R extends BatchRead>(
    reads: readonly R[],
    readOne: (read: R) => Promise<ReadOutcome>,
    signal: AbortSignal | undefined,
  ): Promise<readonly ReadOutcome[]> {
    const alone = new Map<R, ReadOutcome>();
    const singly = async (read: R): Promise<void> => {
      alone.set(read, await readOne(read));
    };
    const together = async (batch: readonly R[]): Promise<void> => {
      const served = await this.#ask(batch, signal);
      await Promise.all(batch.filter((read) => !served.has(read)).map(singly));
    };
    const { batches, others } = inBatches(reads);
    await Promise.all([...batches.map(together), ...others.map(singly)]);
    return reads.map((read) => alone.get(read) ?? { bytes: read.target.byteLength });
  }

  /** Makes one request, once. Returns the reads that it has served. */
  async #ask(batch: readonly BatchRead[], signal: AbortSignal | undefined): Promise<ReadonlySet<BatchRead>> {
    const answer = new BatchAnswer(batch);
    const request = requestFor(batch);
    try {
      await this.#client.once(signal, () => this.#client.send(request, answer, signal));
    } catch (error) {
      // An endpoint, or a proxy before it, that does not take such a request will not take the next one.
      if (error instanceof Failure && error.details.status !== undefined && error.details.retryable !== true)
        this.#isRefused = true;
    } finally {
      answer.close();
    }
    return answer.served;
  }
}

function requestFor(batch: readonly BatchRead[]): S3Request {
  const items = batch.map(({ objectKey: objname, offset: start, target: { byteLength: length } }) => ({
    objname,
    start,
    length,
  }));
  return {
    method: 'GET',
    isBatch: true,
    headers: { 'content-type': 'application/json', 'x-tiered-etags': '1' },
    // A stream of entries, each with the name of its key, that goes on when one is missing.
    body: Buffer.from(JSON.stringify({ in: items, strm: true, onob: true, coer: true })),
  };
}

interface Sorted<R> {
  readonly batches: readonly (readonly R[])[];
  /** What is read singly. */
  readonly others: readonly R[];
}

function inBatches<R extends BatchRead>(reads: readonly R[]): Sorted<R> {
  const batches: R[][] = [];
  let bytes = 0;
  for (const read of reads.filter(fits)) {
    const { byteLength } = read.target;
    const last = batches.at(-1);
    bytes += byteLength;
    if (last !== undefined && last.length < MOST_ITEMS && bytes <= MOST_BYTES) last.push(read);
    else {
      batches.push([read]);
      bytes = byteLength;
    }
  }
  // One alone gains nothing.
  const alone = batches.filter(({ length }) => length === 1).flat();
  return {
    batches: batches.filter(({ length }) => length > 1),
    others: [...reads.filter((read) => !fits(read)), ...alone],
  };
}

function fits({ objectKey, target: { byteLength } }: BatchRead): boolean {
  const isSmall = byteLength > 0 && byteLength <= MOST_OF_ONE;
  return isSmall && objectKey.length <= LONGEST_KEY && !NOT_IN_TAR.test(objectKey);
}
