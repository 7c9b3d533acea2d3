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
   * Users, by their number, whose sockets are trusted beside those of this user and of root. Trust matters
   * because a server gives the samples that a training learns from. `'any'` trusts whatever is there. It is
   * for places that nobody else can reach although anybody may write to them, such as a volume of a pod.
   * Default: none.
   */
  readonly trust?: readonly number[] | 'any' | undefined;
  /**
   * The most bytes of a sample. A larger one ends the connection (`TIERED_TOO_LARGE`) before memory is taken
   * for it. Default: 4 GiB, the most that every supported Node holds in one piece.
   */
  readonly maxSampleBytes?: ByteSize | undefined;
  /**
   * Whether samples may lie in memory that the server shares with this client alone. Their bytes do not go
   * through the socket then. Otherwise each sample has memory of its own. Default: true.
   */
  readonly sharesMemory?: boolean | undefined;
}

/**
 * Takes samples from a prefetcher in another process of the same user, which shares it by `servePrefetcher`.
 * Each sample goes to one client, so k processes that iterate share one sequence.
 *
 * It is a `SampleReader`, with these particulars:
 * - Where `@tiered/native` is available to both sides, samples lie in memory that the server shares with this
 *   client alone (`transport`). After its release a sample's memory serves other samples, so copy what you
 *   need for longer.
 * - A sample for which there is no room there comes through the socket, and so do all samples if memory
 *   cannot be shared. Such a sample has memory of its own, which the garbage collector frees after `release`.
 * - Takes are answered in the order of the calls, and give at most as many samples as the server allows
 *   (`maxSamples`).
 * - A `take` that is aborted rejects at once. Samples that the server had already taken for it still come,
 *   and the next `take` gets them.
 * - When the server is gone, calls reject with `TIERED_UNAVAILABLE`. What was received stays valid.
 * - A call that waits keeps the process running. An open client alone does not.
 *
 * Cost: a call is a round trip between processes. In shared memory, bytes are copied once, by the server.
 * Through the socket they are copied three times: into it, out of it, and to their place.
 */
export class PrefetchClient implements SampleReader {
  readonly #connection: ClientConnection;
  readonly #maxSampleBytes: number;
  readonly #takes = pLimit(1);
  /** Samples that were received and not given out yet. They are of one answer, and so of one epoch. */
  readonly #received: Sample[] = [];
  /** These, and the samples that were given out and not released. */
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
   * - `TIERED_UNAVAILABLE` (retryable) if nobody listens, or if the server takes no more clients;
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
   * How samples come: in memory that is shared with the server, or through the socket. It is the socket if
   * one side has no `@tiered/native` or does not want to share, or if the system cannot hand memory over.
   * Never changes.
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
        // The signal is looked at in the same step, so samples that an aborted take leaves behind stay for
        // the next one.
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
   * Asks the server, unless an earlier take has left samples. At the end of the sequence nothing is received.
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
