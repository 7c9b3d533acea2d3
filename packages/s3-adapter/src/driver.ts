import type { ListOptions, ObjectStat, OperationOptions } from '@tiered/core';
import {
  BaseDriver,
  checkedPieces,
  inSingleRanges,
  type MultipartWrites,
  type Operation,
  type ReadIntoOptions,
  type ReadOptions,
  type ReadOutcome,
  type ReadRequest,
  type WriteData,
  type WriteOptions,
  type WrittenPart,
} from '@tiered/core/driver';
import { gathered, loadChecksum, memoryFor, notOpenError, readOutcome } from '@tiered/core/internal';
import { assertAbsent, MOST_IF_ABSENT, tooLargeIfAbsent, writeIfAbsent } from './operations/absent-writes.js';
import { etagOf, headerOf, lengthOf } from './http/answers.js';
import { S3Client } from './http/client.js';
import { BatchReader } from './operations/batch-reader.js';
import { Deletes } from './operations/deletes.js';
import { resolveEndpoint, type Endpoint } from './http/endpoint.js';
import { explained } from './errors.js';
import { wrongAnswer } from './http/failure.js';
import { assertKeyFits } from './http/keys.js';
import { listObjects } from './operations/listing.js';
import { beginUpload, completeUpload, endUpload, sendPart, uploadInParts } from './operations/multipart.js';
import { checkedOptions, type CheckedS3Options, type S3DriverOptions } from './options.js';
import { RangeReader } from './operations/range-reader.js';

interface Opened {
  readonly client: S3Client;
  readonly reader: RangeReader;
  readonly batches: BatchReader;
  readonly deletes: Deletes;
}

/**
 * Reads and writes objects in a bucket of AWS S3, or of any service that speaks its protocol, as a source or
 * as a tier.
 *
 * A read is of one version of its object: the requested one, or else that of the first answer. `version` is
 * the ETag. A request that breaks is retried, with pauses and up to a deadline, and resumes at the byte where
 * it broke. A `RetryDriver` around this driver would multiply the attempts. `open` sends nothing: the first
 * operation shows whether the bucket and the credentials are right. An abort closes the connection of its
 * request, unless the request publishes or deletes.
 *
 * Errors are `TieredError`s with an `S3ResponseError` as their cause. They are not retryable, because the
 * driver has retried already.
 *
 * - `TIERED_NOT_FOUND`: The object is missing.
 * - `TIERED_UNAVAILABLE`: The bucket is missing.
 * - `TIERED_PERMISSION`: Access was refused.
 * - `TIERED_CONFIG_INVALID`: The region is wrong.
 * - `TIERED_SOURCE_CHANGED`: The object was replaced.
 * - `TIERED_EXISTS`: The object exists although it must not.
 * - `TIERED_DATA_CORRUPT`: Answers stay wrong.
 * - `TIERED_DEADLINE`: Attempts made no progress up to the deadline.
 * - `TIERED_KEY_INVALID`: The key has more than 1024 bytes.
 * - `TIERED_IO`: Anything else.
 */
export class S3Driver extends BaseDriver implements MultipartWrites {
  readonly #options: CheckedS3Options;
  readonly #endpoint: Endpoint;
  #opened: Opened | undefined;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work. */
  constructor(options: S3DriverOptions) {
    const checked = checkedOptions(options);
    const { bucket, prefix, writable } = checked;
    const endpoint = resolveEndpoint(checked, process.env);
    super({
      name: `s3:${bucket}${prefix === '' ? '' : `/${prefix}`}`,
      location: endpoint.location,
      capabilities: { list: true, write: writable, delete: writable },
    });
    this.#options = checked;
    this.#endpoint = endpoint;
  }

  /** Open connections, without those through a proxy. */
  get openConnections(): number {
    return this.#opened?.client.openConnections ?? 0;
  }

  /** The current limit on concurrent requests. It falls when the server asks to slow down. */
  get concurrency(): number {
    return this.#opened?.client.concurrency ?? this.#options.concurrency;
  }

  protected override async openStorage(): Promise<void> {
    const client = new S3Client(this.#endpoint, this.#options);
    this.#opened = {
      client,
      reader: new RangeReader(client, this.#options.chunk),
      batches: new BatchReader(client, this.#options.batches === 'only' ? await loadChecksum() : undefined),
      deletes: new Deletes(client, this.#options.clock),
    };
  }

  protected override async closeStorage(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    await opened?.client.close();
  }

  protected override assertKey(_: Operation, key: string): void {
    assertKeyFits(this.#objectKey(key), key, this.name);
  }

  /** Costs one HEAD. */
  protected async statObject(key: string, { signal }: OperationOptions): Promise<ObjectStat> {
    const { status, headers } = await this.#running.client.request(
      { method: 'HEAD', key: this.#objectKey(key) },
      signal,
    );
    const [size, etag] = [lengthOf(headers), headerOf(headers, 'etag')];
    if (size === undefined || etag === undefined)
      throw wrongAnswer(status, 'NoETag', 'the answer has no length or no ETag', false);
    return { key, size, version: etagOf(etag) };
  }

  /**
   * Costs a request per 1000 objects, and up to `listConcurrency` + 1 more to list ranges of keys
   * concurrently. Objects whose keys the SDK cannot represent (empty below the prefix, or with NUL) are left
   * out.
   */
  protected override async *listObjects({
    prefix = '',
    signal,
  }: ListOptions): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    const { prefix: own, listConcurrency: concurrency } = this.#options;
    for await (const page of listObjects(this.#running.client, {
      prefix: own + prefix,
      concurrency,
      signal,
    })) {
      const objects = page.filter(({ key }) => key.length > own.length && !key.includes('\0'));
      if (objects.length > 0)
        yield objects.map((object) => ({ ...object, key: object.key.slice(own.length) }));
    }
  }

  /** Like `readRangeInto`. Allocates memory only after the server has reported the size. */
  protected async readRange(key: string, options: ReadOptions): Promise<Uint8Array> {
    let target = memoryFor(0);
    const memory = (bytes: number) => (target = memoryFor(bytes, key));
    const bytes = await this.#read(key, memory, { ...options, progress: undefined });
    return bytes === target.byteLength ? target : target.slice(0, bytes);
  }

  /**
   * Costs one GET per `chunk`. An empty target costs no request, and nothing is checked then.
   *
   * A read of up to `chunk` from the beginning asks for the whole object, without a range, as long as the
   * previous read was of a whole object. Only then do servers send a checksum (`x-amz-checksum-*`). It is
   * verified unless it is a checksum of parts. An object that turns out to be longer costs its connection.
   */
  protected override readRangeInto(
    key: string,
    target: Uint8Array,
    options: ReadIntoOptions,
  ): Promise<number> {
    return this.#read(key, () => target, { ...options, length: target.byteLength });
  }

  /**
   * Makes a `readInto` for each range, except at an endpoint that returns many objects in one answer. That is
   * the gateway of tiered, which says so in a header of each answer (`x-tiered-batch`). No other server is
   * asked. There, up to 256 ranges of up to 1 MiB each cost one request, with 16 MiB at most. Everything that
   * such an answer does not return exactly as requested is read singly: objects that are missing, of another
   * version or too short for the target, and the rest after an answer broke off. So outcomes are those of
   * single reads. An abort closes the connections.
   */
  override async readMany(
    requests: readonly ReadRequest[],
    options: OperationOptions,
  ): Promise<readonly ReadOutcome[]> {
    const batches = this.#opened?.batches;
    if (batches?.isOffered !== true) return super.readMany(requests, options);
    const { signal } = options;
    const { requests: ranges, join } = inSingleRanges(requests);
    const reads = ranges.map((range) => ({ ...range, objectKey: this.#objectKey(range.key) }));
    if (batches.isOnly) {
      const failed = ({ key }: ReadRequest, failure: unknown) => this.explained(failure, 'readMany', key);
      return join(await batches.readOnly(reads, failed, signal));
    }
    const readOne = ({ key, target, offset, version }: ReadRequest): Promise<ReadOutcome> =>
      readOutcome(this.readInto(key, target, { offset, version, signal }));
    return join(await batches.readMany(reads, readOne, signal));
  }

  /**
   * Follows the contract. A write of up to twice `chunk` is one PUT, which takes the object's memory. A
   * larger one is a multipart upload, which takes the memory of 5 parts and is aborted if anything goes
   * wrong. If the last answer is lost, the object may exist although this rejects. An abort waits for the
   * answer to a request that publishes: the write succeeds if that request does.
   *
   * `ifAbsent` is sent as If-None-Match, always in one PUT, because not every server honours it when parts
   * are put together. It is `TIERED_UNSUPPORTED` for more than 64 MiB, and if the server answers 501, as
   * Swift does. A server that silently ignores the header replaces objects. It costs a HEAD before an object
   * of more than twice `chunk`, and after a lost answer.
   */
  override write(key: string, data: WriteData, options: WriteOptions): Promise<void> {
    return this.guarded('write', key, options, () => this.#write(key, data, options));
  }

  /**
   * Costs one request. An abort waits for its answer, since the upload could not be aborted without its id.
   */
  createUpload(key: string, options: OperationOptions): Promise<string> {
    return this.guarded('write', key, options, () =>
      beginUpload(this.#running.client, { key: this.#objectKey(key), signal: options.signal }),
    );
  }

  /** Costs one request. */
  writePart(
    key: string,
    uploadId: string,
    part: { readonly number: number; readonly bytes: Uint8Array },
    options: OperationOptions,
  ): Promise<string> {
    return this.guarded('write', key, options, () => sendPart(this.#upload(key, uploadId, options), part));
  }

  /** Costs one request. */
  completeUpload(
    key: string,
    uploadId: string,
    parts: readonly WrittenPart[],
    options: OperationOptions,
  ): Promise<void> {
    return this.guarded('write', key, options, () =>
      completeUpload(this.#upload(key, uploadId, options), parts),
    );
  }

  /** Costs one request. */
  abortUpload(key: string, uploadId: string, options: OperationOptions): Promise<void> {
    return this.guarded('write', key, options, () => endUpload(this.#upload(key, uploadId, options)));
  }

  #upload(key: string, uploadId: string, { signal }: OperationOptions) {
    return { client: this.#running.client, key: this.#objectKey(key), uploadId, signal };
  }

  /**
   * Objects that are deleted in one turn of the event loop share one request for up to 1000. An abort waits
   * for the answer to a request that was sent: nothing is deleted after this has settled.
   */
  protected override async deleteObject(key: string, { signal }: OperationOptions): Promise<void> {
    await this.#running.deletes.delete(this.#objectKey(key), signal);
  }

  /** An error that is no failure of a request is returned unchanged. */
  protected override explained(error: unknown, operation: Operation, key = ''): unknown {
    const { bucket } = this.#options;
    const objectKey = key === '' ? '' : this.#objectKey(key);
    return explained(error, { driver: this, operation, bucket, key, objectKey });
  }

  async #write(key: string, data: WriteData, options: WriteOptions): Promise<void> {
    const { signal, size, ifAbsent = false } = options;
    const [{ client }, objectKey, partBytes] = [this.#running, this.#objectKey(key), this.#options.chunk];
    const pieces = (until = signal) => checkedPieces(this, key, data, { size, signal: until });
    const isLarge = size > 2 * partBytes;
    if (ifAbsent && size > MOST_IF_ABSENT) throw tooLargeIfAbsent();
    if (isLarge && !ifAbsent)
      return uploadInParts(client, { key: objectKey, size, pieces, partBytes, signal });
    if (isLarge) await assertAbsent(client, objectKey, signal);
    const body = await gathered(pieces(), data, () => memoryFor(size));
    const put = async (headers: Readonly<Record<string, string>>) => {
      await client.request({ method: 'PUT', key: objectKey, headers, body, isAwaited: true }, signal);
    };
    return ifAbsent ? writeIfAbsent(client, objectKey, signal, put) : put({});
  }

  async #read(
    key: string,
    memory: (bytes: number) => Uint8Array,
    { offset, length, version, signal, progress }: ReadOptions,
  ): Promise<number> {
    const range = { key: this.#objectKey(key), offset, length, memory, version, signal, progress };
    return this.#running.reader.read(range);
  }

  #objectKey(key: string): string {
    return this.#options.prefix + key;
  }

  get #running(): Opened {
    if (this.#opened === undefined) throw notOpenError(this.name);
    return this.#opened;
  }
}
