import { parseBytes, TieredError, type ByteSize, type OperationOptions } from '@tiered/core';
import { assertCounts, configError, onAbort, SafeEmitter } from '@tiered/core/internal';
import { MOST_SHARED_BYTES, native } from '@tiered/native';
import net from 'node:net';
import type { SampleReader } from '../../sample.js';
import { Handovers } from './handovers.js';
import { ServerConnection } from './server-connection.js';
import { listenPrivately } from './socket-path.js';

/** Options of `servePrefetcher`. */
export interface ServePrefetcherOptions extends OperationOptions {
  /** Where the socket is made: at most 98 bytes, which every system takes. Clients name the same path. */
  readonly path: string;
  /**
   * Clients at the same time, at least 1; one more is refused. Default: 64, far more than a machine has
   * loaders.
   */
  readonly maxClients?: number | undefined;
  /**
   * Samples that one `take` of a client gets at most, at least 1, and so what a client that stops reading
   * keeps from others. Default: 256, a large batch.
   */
  readonly maxSamples?: number | undefined;
  /**
   * Calls of one client that are served at the same time, at least 1; more wait in the client. Default: 16.
   */
  readonly concurrency?: number | undefined;
  /**
   * Memory for each client that is shared with it, at most 1 GiB: its samples lie in there until it releases
   * them, and do not go through the socket. What does not fit goes through the socket. It is beside the
   * budget of the prefetcher, and is taken from the system as it is used. 0 for none. Default: 64 MiB, two
   * batches of 256 samples of 100 KB.
   */
  readonly clientMemory?: ByteSize | undefined;
}

/** What a `PrefetchServer` tells while it works. */
export interface PrefetchServerEvents {
  /** A client was refused, or broke the protocol and was closed. Others do not notice. */
  clientFailed: (event: { readonly error: unknown }) => void;
}

/**
 * Lets clients in other processes take samples from `reader`, over a UNIX domain socket that only this user
 * can open (mode 0600): `PrefetchClient.connect({ path })`. The reader stays the caller's to close, after the
 * server.
 *
 * A client that dies, or does not keep to the protocol, is closed alone: samples taken for it that were not
 * sent yet are released, and its reads are aborted. For each client the server uses, beside samples, up to 16
 * MiB a read under way, and `clientMemory` where `@tiered/native` is available to both: samples are copied in
 * there once, instead of through the socket. A longer read is made of several; if the object is replaced
 * meanwhile it rejects with `TIERED_SOURCE_CHANGED` (retryable), as far as the reader is a `Prefetcher` whose
 * source tells versions. No Windows: it has no such sockets in Node.
 * @param options `signal` closes the server when it aborts; before the server listens, it rejects with
 * `signal.reason`.
 * @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work, such as a path that a living
 * server uses. A socket that a dead server left there is replaced.
 */
export async function servePrefetcher(
  reader: SampleReader,
  options: ServePrefetcherOptions,
): Promise<PrefetchServer> {
  const {
    path,
    signal,
    maxClients = 64,
    maxSamples = 256,
    concurrency = 16,
    clientMemory = '64MiB',
  } = options;
  const memoryBytes = parseBytes(clientMemory, 'clientMemory');
  if (memoryBytes > MOST_SHARED_BYTES) throw configError('clientMemory', 'at most 1 GiB', clientMemory);
  assertCounts({ maxClients, maxSamples, concurrency });
  signal?.throwIfAborted();
  const listener = new net.Server();
  const server = new PrefetchServer(reader, listener, {
    path,
    maxClients,
    maxSamples,
    maxRequests: concurrency,
    memoryBytes: native().available ? memoryBytes : 0,
  });
  const removePath = await listenPrivately(listener, path);
  server.opened(removePath, signal);
  if (signal?.aborted !== true) return server;
  await server.close();
  throw signal.reason;
}

/** Its options, with their defaults. */
interface Limits {
  readonly path: string;
  readonly maxClients: number;
  readonly maxSamples: number;
  readonly maxRequests: number;
  /** Shared with each client; 0 for none. */
  readonly memoryBytes: number;
}

/** Serves clients until it is closed; made by `servePrefetcher`. */
export class PrefetchServer extends SafeEmitter<PrefetchServerEvents> implements AsyncDisposable {
  /** Where clients find it. */
  readonly path: string;
  readonly #reader: SampleReader;
  readonly #listener: net.Server;
  readonly #limits: Limits;
  readonly #handovers: Handovers | undefined;
  /** All connections, also those that have not said who they are. */
  readonly #connections = new Set<ServerConnection>();
  #clients = 0;
  #failures = 0;
  #removePath: () => Promise<void> = async () => undefined;
  #stopListening: () => void = () => undefined;
  #closed: Promise<void> | undefined;

  /** @internal */
  constructor(reader: SampleReader, listener: net.Server, limits: Limits) {
    super();
    this.path = limits.path;
    this.#reader = reader;
    this.#listener = listener;
    this.#limits = limits;
    this.#handovers = limits.memoryBytes > 0 ? new Handovers(limits.memoryBytes) : undefined;
    // A client that gets memory has a second one for a moment. One who is refused is told so; there is an end
    // to that too.
    listener.maxConnections = 3 * limits.maxClients;
    listener.on('connection', (socket) => this.#connect(socket));
  }

  /** Clients that are connected. */
  get clients(): number {
    return this.#clients;
  }

  /** How many clients were refused or broke the protocol; each was an event `clientFailed`. */
  get failures(): number {
    return this.#failures;
  }

  /** @internal */
  opened(removePath: () => Promise<void>, signal: AbortSignal | undefined): void {
    this.#removePath = removePath;
    // Without a system's error here the process would end: it is out of descriptors, and one client less is
    // served.
    this.#listener.on('error', (error) => this.#failed(error));
    this.#stopListening = onAbort(signal, () => void this.close());
  }

  /**
   * Closes every client (their calls reject with `TIERED_UNAVAILABLE`), releases what was taken for them, and
   * removes the socket. Resolves when nothing of it is left. Idempotent.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    this.#stopListening();
    await this.#removePath();
    const closed = new Promise((resolve) => this.#listener.close(resolve));
    const connections = [...this.#connections];
    for (const connection of connections) connection.close(serverClosed());
    await Promise.all([closed, ...connections.map((connection) => connection.closed)]);
  }

  #connect(socket: net.Socket): void {
    let admitted = false;
    const connection = new ServerConnection(socket, {
      reader: this.#reader,
      limits: this.#limits,
      handovers: this.#handovers,
      admit: () => {
        if (this.#clients >= this.#limits.maxClients) throw tooManyClients(this.#limits.maxClients);
        this.#clients += 1;
        admitted = true;
      },
      failed: (error) => this.#failed(error),
    });
    this.#connections.add(connection);
    socket.once('close', () => {
      this.#clients -= admitted ? 1 : 0;
    });
    void connection.closed.then(() => this.#connections.delete(connection));
  }

  #failed(error: unknown): void {
    this.#failures += 1;
    this.emit('clientFailed', { error });
  }
}

function serverClosed(): TieredError {
  return new TieredError('TIERED_UNAVAILABLE', 'The server of this prefetcher was closed.');
}

function tooManyClients(maxClients: number): TieredError {
  return new TieredError(
    'TIERED_UNAVAILABLE',
    `The prefetcher has ${maxClients} clients, and takes no more at the same time; close one, or raise maxClients.`,
    { retryable: true },
  );
}
