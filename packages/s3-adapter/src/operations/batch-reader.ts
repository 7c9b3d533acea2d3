import type { ReadOutcome } from '@tiered/core/driver';
import type { Checksum } from '@tiered/core/internal';
import type { S3Client, S3Request } from '../http/client.js';
import { broken, Failure } from '../http/failure.js';
import { BatchAnswer, type BatchRead } from './batch-answer.js';

/** Larger ranges are read singly: the request costs little compared with their bytes. */
const MOST_OF_ONE = 2 ** 20;
/** Bytes of the ranges of one request. A broken connection costs at most these. */
const MOST_BYTES = 16 * 2 ** 20;
/** Ranges of one request. With the longest keys its body has 1.6 MB. The gateway takes 2 MiB. */
const MOST_ITEMS = 256;
/** The limit of S3. */
const LONGEST_KEY = 1024;
/** Keys that tar readers do not take for files, or do not read whole. */
const NOT_IN_TAR = /\/$|\n/;

const NOT_IN_BATCHES = 'it is larger than 1 MiB, or its key cannot be in a batch';

/** The results of a request. */
interface Asked extends Pick<BatchAnswer, 'served' | 'failures'> {
  /** Why reads that the answer does not mention were not served. */
  readonly failure: unknown;
}

/**
 * Reads small ranges of many objects in one request, from endpoints that offer it: AIStore's GetBatch, with
 * ETags.
 */
export class BatchReader {
  readonly #client: Pick<S3Client, 'send' | 'once' | 'offersBatches'>;
  readonly #checksum: Checksum | undefined;
  #isRefused = false;

  /** @param checksum If given, all reads are made together, and entries must have this checksum. */
  constructor(client: Pick<S3Client, 'send' | 'once' | 'offersBatches'>, checksum: Checksum | undefined) {
    this.#client = client;
    this.#checksum = checksum;
  }

  /** Whether the endpoint offers batches, according to its answers. */
  get isOffered(): boolean {
    return this.isOnly || (this.#client.offersBatches && !this.#isRefused);
  }

  /** Whether nothing is read singly. */
  get isOnly(): boolean {
    return this.#checksum !== undefined;
  }

  /**
   * Makes the reads, in as few requests as possible. A read that a batch does not return exactly as requested
   * is made singly, once. So only single reads explain errors, wait and retry. Does not reject.
   * @param reads Distinct JavaScript objects, which identify the reads.
   * @param readOne Makes a single read. Does not reject.
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
      const { served } = await this.#ask(batch, signal);
      await Promise.all(batch.filter((read) => !served.has(read)).map(singly));
    };
    const { batches, others } = inBatches(reads, 2);
    await Promise.all([...batches.map(together), ...others.map(singly)]);
    return reads.map((read) => alone.get(read) ?? { bytes: read.target.byteLength });
  }

  /**
   * Like `readMany`, for ranges of up to 1 MiB, without single reads. A read that a batch does not return
   * fails with the failure in the answer.
   * @param explained Makes an error of a failure.
   */
  async readOnly<R extends BatchRead>(
    reads: readonly R[],
    explained: (read: R, failure: unknown) => unknown,
    signal: AbortSignal | undefined,
  ): Promise<readonly ReadOutcome[]> {
    const outcomes = new Map<R, ReadOutcome>();
    const { batches, others } = inBatches(reads, 1);
    for (const read of others)
      outcomes.set(read, { error: explained(read, broken('NoBatch', NOT_IN_BATCHES)) });
    const together = async (batch: readonly R[]): Promise<void> => {
      const { served, failures, failure } = await this.#ask(batch, signal);
      for (const read of batch) {
        if (served.has(read)) outcomes.set(read, { bytes: read.target.byteLength });
        else if (signal?.aborted === true) outcomes.set(read, { error: signal.reason });
        else outcomes.set(read, { error: explained(read, failures.get(read) ?? failure) });
      }
    };
    await Promise.all(batches.map(together));
    return reads.map((read) => outcomes.get(read) ?? { bytes: 0 });
  }

  /** Makes one request, once. */
  async #ask(batch: readonly BatchRead[], signal: AbortSignal | undefined): Promise<Asked> {
    const answer = new BatchAnswer(batch, this.#checksum);
    const request = requestFor(batch, this.isOnly);
    let failure: unknown;
    try {
      await this.#client.once(signal, () => this.#client.send(request, answer, signal));
    } catch (error) {
      failure = ofBatches(error);
      // An endpoint or proxy that refuses such a request will refuse the next one too.
      if (error instanceof Failure && error.details.status !== undefined && error.details.retryable !== true)
        this.#isRefused = true;
    } finally {
      answer.close();
    }
    // Most answers have all. Creating an error takes longer than a read.
    if (failure === undefined && answer.served.size + answer.failures.size < batch.length)
      failure = broken('ShortBatch', 'the answer does not have it');
    return { served: answer.served, failures: answer.failures, failure };
  }
}

/** A 404 for the whole answer says nothing about the objects: there is no such endpoint. */
function ofBatches(error: unknown): unknown {
  if (!(error instanceof Failure) || error.details.means !== 'TIERED_NOT_FOUND') return error;
  const advice = 'the endpoint gives no batches; check it';
  return new Failure({ ...error.details, means: 'TIERED_UNSUPPORTED', advice });
}

function requestFor(batch: readonly BatchRead[], withSums: boolean): S3Request {
  const items = batch.map(({ objectKey: objname, offset: start, target: { byteLength: length } }) => ({
    objname,
    start,
    length,
  }));
  return {
    method: 'GET',
    isBatch: true,
    headers: {
      'content-type': 'application/json',
      'x-tiered-etags': '1',
      ...(withSums ? { 'x-tiered-sums': '1' } : {}),
    },
    // A stream of entries, each named by its key, that goes on when one is missing.
    body: Buffer.from(JSON.stringify({ in: items, strm: true, onob: true, coer: true })),
  };
}

interface Sorted<R> {
  readonly batches: readonly (readonly R[])[];
  /** Reads to make singly. */
  readonly others: readonly R[];
}

/** @param least Fewer reads than this are not worth a batch. */
function inBatches<R extends BatchRead>(reads: readonly R[], least: number): Sorted<R> {
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
  const alone = batches.filter(({ length }) => length < least).flat();
  return {
    batches: batches.filter(({ length }) => length >= least),
    others: [...reads.filter((read) => !fits(read)), ...alone],
  };
}

function fits({ objectKey, target: { byteLength } }: BatchRead): boolean {
  const isSmall = byteLength > 0 && byteLength <= MOST_OF_ONE;
  return isSmall && objectKey.length <= LONGEST_KEY && !NOT_IN_TAR.test(objectKey);
}
