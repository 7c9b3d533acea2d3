import { parseBytes, TieredError, type ByteSize, type OperationOptions } from '@tiered/core';
import { assertCounts, configError, onAbort, SafeEmitter } from '@tiered/core/internal';
import { MOST_SHARED_BYTES, native } from '@tiered/native';
import net from 'node:net';
import type { SampleReader } from '@tiered/prefetch';
import { Handovers } from './handovers.js';
import { ServerConnection } from './server-connection.js';
import { listenPrivately } from './socket-path.js';

/** Options of `servePrefetcher`. */
export interface ServePrefetcherOptions extends OperationOptions {
  /**
   * The path of the socket to make. At most 98 bytes, which every system accepts. Clients connect to the same
   * path.
   */
  readonly path: string;
  /**
   * The most concurrent clients, at least 1. Further ones are refused. Default: 64, far more than the loaders
   * of a machine.
   */
  readonly maxClients?: number | undefined;
  /**
   * The most samples that one `take` of a client gets, at least 1. A client that stops reading withholds this
   * many from the others. Default: 256, a large batch.
   */
  readonly maxSamples?: number | undefined;
  /**
   * The most calls of one client served at the same time, at least 1. Further ones wait in the client.
   * Default: 16.
   */
  readonly concurrency?: number | undefined;
  /**
   * Memory shared with each client, at most 1 GiB. Samples stay there until the client releases them, and
   * bypass the socket. Only samples for which there is no room use the socket. The memory is in addition to
   * the prefetcher's budget, and is taken from the system as it is used. 0 for none. Default: 64 MiB, two
   * batches of 256 samples of 100 KB.
   */
  readonly clientMemory?: ByteSize | undefined;
}

/** Events of a `PrefetchServer`. */
export interface PrefetchServerEvents {
  /** A client was refused, or broke the protocol and was closed. Other clients are not affected. */
  clientFailed: (event: { readonly error: unknown }) => void;
}

/**
 * Lets clients in other processes take samples from `reader`: `PrefetchClient.connect({ path })`. They
 * connect to a UNIX domain socket that only this user can open (mode 0600). The caller owns the reader, and
 * closes it after the server.
 *
 * A client that dies, or breaks the protocol, is closed without effect on others: samples taken for it but
 * not sent yet are released, and its reads are aborted. A read of more than 16 MiB is split. If the object is
 * replaced meanwhile, it rejects with `TIERED_SOURCE_CHANGED` (retryable), provided that the reader is a
 * `Prefetcher` whose source has versions. Does not run on Windows, where Node has no such sockets.
 *
 * Cost, besides samples: for each client, up to 16 MiB for each read in flight, and `clientMemory` if
 * `@tiered/native` is available to both sides. Samples are copied into that memory once, instead of through
 * the socket.
 * @param options When `signal` aborts, the server is closed. If it aborts before the server listens, this
 * rejects with `signal.reason`.
 * @throws TieredError `TIERED_CONFIG_INVALID` for invalid options, such as a path that a running server uses.
 * A socket left there by a dead server is replaced.
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

/** The options, with their defaults. */
interface Limits {
  readonly path: string;
  readonly maxClients: number;
  readonly maxSamples: number;
  readonly maxRequests: number;
  /** Memory shared with each client. 0 for none. */
  readonly memoryBytes: number;
}

/** Serves clients until it is closed. Made by `servePrefetcher`. */
export class PrefetchServer extends SafeEmitter<PrefetchServerEvents> implements AsyncDisposable {
  /** The path of the socket. */
  readonly path: string;
  readonly #reader: SampleReader;
  readonly #listener: net.Server;
  readonly #limits: Limits;
  readonly #handovers: Handovers | undefined;
  /** All connections, including those that have not said hello yet. */
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
    // A client that gets memory briefly has a second connection. A refused client is told so, unless there
    // are too many of them.
    listener.maxConnections = 3 * limits.maxClients;
    listener.on('connection', (socket) => this.#connect(socket));
  }

  /** The number of connected clients. */
  get clients(): number {
    return this.#clients;
  }

  /** The number of clients that were refused or broke the protocol. Each emitted a `clientFailed` event. */
  get failures(): number {
    return this.#failures;
  }

  /** @internal */
  opened(removePath: () => Promise<void>, signal: AbortSignal | undefined): void {
    this.#removePath = removePath;
    // Without a listener, the system's error would end the process. It means that no descriptors are left,
    // and that one client fewer is served.
    this.#listener.on('error', (error) => this.#failed(error));
    this.#stopListening = onAbort(signal, () => void this.close());
  }

  /**
   * Closes every client, whose calls reject with `TIERED_UNAVAILABLE`, releases the samples taken for them,
   * and removes the socket. Resolves once all of this is done. Idempotent.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** Calls `close`, at the end of an `await using`. */
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
