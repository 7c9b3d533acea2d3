import type { OperationOptions } from '@tiered/core';
import { BaseDriver, notFound, type ReadOutcome, type ReadRequest } from '@tiered/core/driver';
import { loadChecksum } from '@tiered/core/internal';
import { explained } from '../../../packages/s3-adapter/src/errors.js';
import type { Answer } from '../../../packages/s3-adapter/src/http/answers.js';
import type { Sink } from '../../../packages/s3-adapter/src/http/exchange.js';
import { BatchReader } from '../../../packages/s3-adapter/src/operations/batch-reader.js';

/** Makes a request, and gives its answer to a sink, of which no byte comes after the promise has settled. */
export type Exchange = (
  body: Uint8Array,
  sink: Sink,
  signal: AbortSignal | undefined,
) => Promise<Pick<Answer, 'status'>>;

/** Reads from another node: what `S3Driver` does with batches, without its sockets. */
export class PeerLink extends BaseDriver {
  readonly #exchange: Exchange;

  constructor(url: string, exchange: Exchange) {
    super({ name: url });
    this.#exchange = exchange;
  }

  override async readMany(
    requests: readonly ReadRequest[],
    { signal }: OperationOptions,
  ): Promise<readonly ReadOutcome[]> {
    const client = {
      offersBatches: true,
      once: <T>(_: AbortSignal | undefined, attempt: () => Promise<T>) => attempt(),
      send: async (
        { body = new Uint8Array() }: { readonly body?: Uint8Array | undefined },
        sink: Sink | undefined,
      ): Promise<Answer> => {
        if (sink === undefined) throw new Error('a batch without a sink');
        return { headers: {}, body: Buffer.alloc(0), ...(await this.#exchange(body, sink, signal)) };
      },
    };
    const reads = requests.map((request) => ({ ...request, objectKey: request.key }));
    const failed = ({ key }: ReadRequest, failure: unknown) =>
      explained(failure, { driver: this, operation: 'readMany', bucket: 'objects', key, objectKey: key });
    return new BatchReader(client, await loadChecksum()).readOnly(reads, failed, signal);
  }

  protected async statObject(key: string): Promise<never> {
    throw notFound(this, 'stat', key);
  }

  protected async readRange(key: string): Promise<never> {
    throw notFound(this, 'read', key);
  }
}
