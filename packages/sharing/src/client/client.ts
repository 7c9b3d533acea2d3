import { parseBytes, TieredError, type ByteSize, type OperationOptions } from '@tiered/core';
import { assertCounts, onAbort, raceAbort } from '@tiered/core/internal';
import pLimit from 'p-limit';
import type { Sample, SampleReader, SampleReadOptions } from '@tiered/prefetch';
import { batchesOf, rangeInvalidError, samplesOf } from '@tiered/prefetch/internal';
import { ClientConnection } from './client-connection.js';
import { CLIENT_FRAMES, encodeHead } from '../wire/protocol.js';
import { ReadAssembly, SampleAssembly } from './received-samples.js';

/** Options of `PrefetchClient.connect`. */
export interface PrefetchClientOptions extends OperationOptions {
  /** The path of the server's socket. */
  readonly path: string;
  /**
   * User ids whose sockets are trusted, besides this user's and root's. Trust matters because a server
   * supplies the samples that a training learns from. `'any'` trusts any socket. It is for places that are
   * writable by all but out of reach of other users, such as a volume of a pod. Default: none.
   */
  readonly trust?: readonly number[] | 'any' | undefined;
  /**
   * The most bytes of a sample. A larger one ends the connection (`TIERED_TOO_LARGE`) before memory is
   * allocated for it. Default: 4 GiB, the largest buffer that every supported Node can hold.
   */
  readonly maxSampleBytes?: ByteSize | undefined;
  /**
   * Whether samples may be in memory that the server shares only with this client. Their bytes then bypass
   * the socket. Otherwise each sample has its own memory. Default: true.
   */
  readonly sharesMemory?: boolean | undefined;
}

/**
 * Takes samples from a prefetcher in another process of the same user, which shares it with
 * `servePrefetcher`. Each sample goes to one client, so k processes that iterate share one sequence.
 *
 * It is a `SampleReader`, with these particulars:
 * - If `@tiered/native` is available to both sides, samples are in memory that the server shares only with
 * this client (`transport`). A released sample's memory is reused, so copy data you need for longer.
 * - A sample for which there is no room there comes through the socket, and so do all samples if memory
 * cannot be shared. Such a sample has its own memory, which the garbage collector frees after `release`.
 * - Takes are answered in the order of the calls, and return at most the server's `maxSamples`.
 * - An aborted `take` rejects at once. Samples that the server had already taken for it still come, and the
 * next `take` gets them.
 * - When the server is gone, calls reject with `TIERED_UNAVAILABLE`. Received samples stay valid.
 * - A pending call keeps the process running. An open client alone does not.
 *
 * Cost: a call is a round trip between processes. In shared memory, bytes are copied once, by the server.
 * Through the socket they are copied three times: into it, out of it, and to their place.
 */
export class PrefetchClient implements SampleReader {
  readonly #connection: ClientConnection;
  readonly #maxSampleBytes: number;
  readonly #takes = pLimit(1);
  /** Samples that were received and not returned yet. They are of one answer, and so of one epoch. */
  readonly #received: Sample[] = [];
  /** These samples, and the returned samples that are not released. */
  readonly #held = new Set<Sample>();
  #closed = false;

  private constructor(connection: ClientConnection, maxSampleBytes: number) {
    this.#connection = connection;
    this.#maxSampleBytes = maxSampleBytes;
  }

  /**
   * Connects to a server. An abort rejects with `signal.reason`, and has no effect once the client is
   * connected.
   * @throws TieredError
   * - `TIERED_UNAVAILABLE` (retryable) if no server listens, or if the server takes no more clients;
   * - `TIERED_PERMISSION` if the socket, or a link or directory on the way to it, belongs to another user, or
   *   if others may write to such a directory, unless it is sticky, as /tmp is;
   * - `TIERED_VERSION_MISMATCH` if the server speaks another version of the protocol.
   */
  static async connect(options: PrefetchClientOptions): Promise<PrefetchClient> {
    const { path, trust = [], maxSampleBytes = '4GiB', sharesMemory = true, signal } = options;
    const bytes = parseBytes(maxSampleBytes, 'maxSampleBytes');
    return new PrefetchClient(await ClientConnection.open({ path, trust, sharesMemory }, signal), bytes);
  }

  /**
   * The transport of samples: memory shared with the server, or the socket. It is the socket if one side has
   * no `@tiered/native` or does not share memory, or if the system cannot pass memory on. Never changes.
   */
  get transport(): 'memory' | 'socket' {
    return this.#connection.memory === undefined ? 'socket' : 'memory';
  }

  async take(most: number, { signal }: OperationOptions = {}): Promise<readonly Sample[]> {
    assertCounts({ most });
    if (this.#closed) throw closedError();
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const stopListening = onAbort(signal, reject);
      const turn = this.#takes(async () => {
        await this.#receive(most, signal);
        if (this.#closed) throw closedError();
        // The signal is checked in the same step, so samples left by an aborted take stay for the next one.
        if (signal?.aborted !== true) resolve(this.#received.splice(0, most));
      });
      void turn.catch(reject).finally(stopListening);
    });
  }

  batches(size: number): AsyncIterableIterator<readonly Sample[]> {
    return batchesOf(this, size);
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<Sample> {
    return samplesOf(this);
  }

  async readInto(
    key: string,
    target: Uint8Array,
    { offset = 0, signal }: SampleReadOptions = {},
  ): Promise<number> {
    if (this.#closed) throw closedError();
    signal?.throwIfAborted();
    if (!key.isWellFormed()) throw keyInvalid(key);
    if (!Number.isSafeInteger(offset) || offset < 0) throw rangeInvalidError(key, offset);
    const answer = new ReadAssembly(target, signal);
    const body = { key, offset, length: target.byteLength };
    const frame = (id: number) => encodeHead(CLIENT_FRAMES.read, id, body);
    await raceAbort(this.#connection.request(frame, answer, signal), signal);
    return answer.bytes;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#received.length = 0;
    for (const sample of this.#held) sample.release();
    await this.#connection.close(closedError());
    this.#connection.memory?.close();
  }

  /** Calls `close`, at the end of an `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /**
   * Asks the server, unless an earlier take has left samples. Receives no samples at the end of the sequence.
   */
  async #receive(most: number, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#received.length > 0) return;
    const { memory, maxSamples } = this.#connection;
    const limits = { most: Math.min(most, maxSamples), maxSampleBytes: this.#maxSampleBytes };
    const answer = new SampleAssembly(limits, memory, this.#held, (sample) => this.#received.push(sample));
    const sharesMemory = memory !== undefined;
    const body = { most: limits.most, memory: sharesMemory, lists: sharesMemory };
    const frame = (id: number) =>
      Buffer.concat([...(memory?.releases() ?? []), encodeHead(CLIENT_FRAMES.take, id, body)]);
    await this.#connection.request(frame, answer, signal);
  }
}

function closedError(): TieredError {
  return new TieredError(
    'TIERED_CLOSED',
    'This client of a prefetcher is closed; connect another one to go on.',
  );
}

function keyInvalid(key: string): TieredError {
  return new TieredError(
    'TIERED_KEY_INVALID',
    `The key ${JSON.stringify(key)} is not well-formed Unicode; use the name of an object.`,
    { key },
  );
}
