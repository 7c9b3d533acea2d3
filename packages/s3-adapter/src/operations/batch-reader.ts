import type { ReadOutcome } from '@tiered/core/driver';
import type { Checksum } from '@tiered/core/internal';
import type { S3Client, S3Request } from '../http/client.js';
import { broken, Failure } from '../http/failure.js';
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

const NOT_IN_BATCHES = 'it is larger than 1 MiB, or its key cannot be in a batch';

/** What a request has brought. */
interface Asked extends Pick<BatchAnswer, 'served' | 'failures'> {
  /** Why reads have not been served that the answer says nothing of. */
  readonly failure: unknown;
}

/**
 * Reads small ranges of many objects in one request, from endpoints that say that they give them: GetBatch of
 * AIStore, with ETags.
 */
export class BatchReader {
  readonly #client: Pick<S3Client, 'send' | 'once' | 'offersBatches'>;
  readonly #checksum: Checksum | undefined;
  #isRefused = false;

  /** @param checksum If given, all reads are made together, and what comes has to have this checksum. */
  constructor(client: Pick<S3Client, 'send' | 'once' | 'offersBatches'>, checksum: Checksum | undefined) {
    this.#client = client;
    this.#checksum = checksum;
  }

  /** Whether the endpoint gives batches, as far as its answers told. */
  get isOffered(): boolean {
    return this.isOnly || (this.#client.offersBatches && !this.#isRefused);
  }

  /** Whether nothing is read singly. */
  get isOnly(): boolean {
    return this.#checksum !== undefined;
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
      const { served } = await this.#ask(batch, signal);
      await Promise.all(batch.filter((read) => !served.has(read)).map(singly));
    };
    const { batches, others } = inBatches(reads, 2);
    await Promise.all([...batches.map(together), ...others.map(singly)]);
    return reads.map((read) => alone.get(read) ?? { bytes: read.target.byteLength });
  }

  /**
   * As `readMany`, of ranges of up to 1 MiB, without a read by itself: what a batch does not give is the
   * failure that the answer tells.
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
      // An endpoint, or a proxy before it, that does not take such a request will not take the next one.
      if (error instanceof Failure && error.details.status !== undefined && error.details.retryable !== true)
        this.#isRefused = true;
    } finally {
      answer.close();
    }
    // Most answers have all. An error takes longer to make than a read.
    if (failure === undefined && answer.served.size + answer.failures.size < batch.length)
      failure = broken('ShortBatch', 'the answer does not have it');
    return { served: answer.served, failures: answer.failures, failure };
  }
}

/** A whole answer of 404 says nothing of the objects: there is no such endpoint. */
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
    // A stream of entries, each with the name of its key, that goes on when one is missing.
    body: Buffer.from(JSON.stringify({ in: items, strm: true, onob: true, coer: true })),
  };
}

interface Sorted<R> {
  readonly batches: readonly (readonly R[])[];
  /** What is read singly. */
  readonly others: readonly R[];
}

/** @param least Fewer reads than that are not worth a batch. */
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
