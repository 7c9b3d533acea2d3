import { systemClock, type Hierarchy } from '@tiered/core';
import { closeFor, openFor } from '@tiered/core/internal';
import pLimit from 'p-limit';
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ChangingKeys } from '../hierarchy/changing-keys.js';
import { HierarchyStorage } from '../hierarchy/hierarchy-storage.js';
import { HierarchyWrites } from '../hierarchy/hierarchy-writes.js';
import { ReadWatch } from '../hierarchy/levels.js';
import { PieceMemory } from '../hierarchy/piece-memory.js';
import { readBody } from '../protocol/bodies.js';
import { arriving, expectEnd } from './arriving.js';
import { boundConnections } from './connections.js';
import { Exchange } from './exchange.js';
import { listening } from './listening.js';
import type { GatewayMetrics } from './merged-metrics.js';
import { Metrics } from './metrics.js';
import {
  checkedOptions,
  type CheckedOptions,
  type GatewayBucket,
  type GatewayOptions,
  type PeerFigures,
} from './options.js';
import { route } from './route.js';
import { WatchServer } from './watch-server.js';

/** Node looks this often for connections that have taken too long; more seldom if the limits are long. */
const LOOKS = 10;

/** Connections, requests and memory of a gateway. */
export interface GatewayStats {
  readonly connections: number;
  /** Requests that are being answered. Each connection has one at a time. */
  readonly answering: number;
  /** Memory of bytes in flight to clients: now, and the most at any time. */
  readonly heldBytes: number;
  readonly mostHeldBytes: number;
}

/**
 * Serves hierarchies as an S3 endpoint. Each hierarchy is a bucket, which is read-only unless its options
 * name prefixes that may be written. See the README of the package for what clients see.
 *
 * Each connection has one request answered at a time. An answer holds a bounded number of bytes, and takes
 * the next ones only when the client has taken these. A client that goes away ends its reads.
 */
export class Gateway implements AsyncDisposable {
  readonly #options: CheckedOptions;
  readonly #watch = new ReadWatch();
  readonly #memory: PieceMemory;
  readonly #metrics: Metrics;
  readonly #buckets: ReadonlyMap<string, HierarchyStorage>;
  readonly #writes: ReadonlyMap<string, HierarchyWrites>;
  readonly #server: Server;
  readonly #sockets: ReadonlySet<Socket>;
  /** The promise that the next request of each connection waits for. */
  readonly #turns = new WeakMap<Socket, Promise<void>>();
  /** Aborts when the time for answers in flight is up. */
  readonly #closing = new AbortController();
  #watchServer: WatchServer | undefined;
  /** Hierarchies that were closed elsewhere. */
  #closedBuckets = 0;
  #endpoint = '';
  #answering = 0;
  #onIdle: (() => void) | undefined;
  readonly #onBucketClosed = () => {
    this.#closedBuckets += 1;
  };
  #closed: Promise<void> | undefined;

  /**
   * Starts to listen. The gateway runs until `close`, or until the process ends.
   * @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work, such as an address that others
   * can reach without credentials; Node's own error if a port is taken. Abort rejects with `signal.reason`.
   */
  static async start(options: GatewayOptions): Promise<Gateway> {
    const { signal } = options;
    const gateway = new Gateway(checkedOptions(options));
    try {
      signal?.throwIfAborted();
      await gateway.#listen();
      signal?.throwIfAborted();
      return gateway;
    } catch (error) {
      await gateway.close();
      throw error;
    }
  }

  private constructor(options: CheckedOptions) {
    this.#options = options;
    const { limits, clock, buckets } = options;
    this.#memory = new PieceMemory(limits.memory);
    const hierarchies = new Map<string, Hierarchy>();
    const peers = new Map<string, () => readonly PeerFigures[]>();
    const storages = new Map<string, HierarchyStorage>();
    for (const [name, bucket] of Object.entries(buckets)) {
      const { hierarchy, prefix = '' } = bucket;
      hierarchies.set(name, hierarchy);
      if (bucket.peers !== undefined) peers.set(name, bucket.peers);
      hierarchy.once('closed', this.#onBucketClosed);
      const parts = {
        hierarchy,
        prefix,
        changing: changingKeysOf(bucket),
        fetches: bucket.fetches ?? (() => true),
        watch: this.#watch,
        memory: this.#memory,
        clock,
      };
      storages.set(name, new HierarchyStorage({ ...parts, closing: this.#closing.signal }));
    }
    this.#buckets = storages;
    this.#writes = this.#writesOf();
    this.#metrics = new Metrics({
      hierarchies,
      peers,
      connections: () => this.#sockets.size,
      answering: () => this.#answering,
      heldBytes: () => this.#memory.held,
    });
    this.#server = this.#makeServer();
    this.#sockets = boundConnections(this.#server, limits.connections, () => this.#metrics.refused());
  }

  #writesOf(): ReadonlyMap<string, HierarchyWrites> {
    const { limits, buckets } = this.#options;
    const turns = pLimit(limits.writes);
    const all = new Map<string, HierarchyWrites>();
    for (const [name, { hierarchy, prefix = '', writes }] of Object.entries(buckets)) {
      if (writes === undefined) continue;
      const { driver, prefix: driverPrefix = '', prefixes } = writes;
      const parts = { hierarchy, prefix, driver, driverPrefix, prefixes, turns };
      all.set(name, new HierarchyWrites({ ...parts, closing: this.#closing.signal }));
    }
    return all;
  }

  #makeServer(): Server {
    const { headerBytes, headersMs, requestMs, idleMs } = this.#options.limits;
    const server = createServer({
      maxHeaderSize: headerBytes,
      headersTimeout: Math.min(headersMs, requestMs),
      // A write may take as long as its bytes keep arriving, see `arriving`.
      requestTimeout: this.#writes.size > 0 ? 0 : requestMs,
      keepAliveTimeout: idleMs,
      connectionsCheckingInterval: Math.max(1, Math.ceil(Math.min(headersMs, requestMs) / LOOKS)),
      // A host that vanished is noticed in the end, whatever is in flight.
      keepAlive: true,
    });
    server.on('request', (message, response) => this.#take(message, response));
    // The client waits before it sends a body. It is told to go on where the body is read.
    server.on('checkContinue', (message, response) => this.#take(message, response));
    return server;
  }

  async #listen(): Promise<void> {
    const { host, port, metrics, buckets, signal } = this.#options;
    for (const { writes } of Object.values(buckets))
      if (writes !== undefined) await openFor(this, writes.driver, { signal });
    if (metrics !== undefined) {
      this.#watchServer = await WatchServer.start({
        host: metrics.host ?? host,
        port: metrics.port,
        token: metrics.token,
        metrics: () => this.#metrics.text(),
        isReady: () => this.#closed === undefined && this.#closedBuckets === 0,
      });
    }
    this.#endpoint = await listening(this.#server, host, port);
  }

  /** `http://ADDRESS:PORT`. The bucket is named in the path, or before the host name. */
  get endpoint(): string {
    return this.#endpoint;
  }

  /** The URL of the metrics port, if there is one. */
  get metricsEndpoint(): string | undefined {
    return this.#watchServer?.endpoint;
  }

  /** Returns the present figures. Cheap. */
  stats(): GatewayStats {
    return {
      connections: this.#sockets.size,
      answering: this.#answering,
      heldBytes: this.#memory.held,
      mostHeldBytes: this.#memory.most,
    };
  }

  /**
   * Returns the content of `/metrics`, for programs whose processes listen at one port: `mergedMetrics`
   * merges the metrics of all processes into one text. Cheap.
   */
  metrics(): Promise<GatewayMetrics> {
    return this.#metrics.told();
  }

  /**
   * Takes no further request, and waits for answers in flight, for `limits.closeMs` at most. Then nothing is
   * open any more. The hierarchies stay open. Idempotent.
   */
  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  /** Calls `close` at the end of an `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const { clock, limits } = this.#options;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeIdleConnections();
    if (this.#answering > 0) {
      const isIdle = new AbortController();
      this.#onIdle = () => isIdle.abort(new Error('All answers have ended.'));
      await clock.sleep(limits.closeMs, isIdle.signal).catch(() => undefined);
    }
    this.#closing.abort(new Error('The gateway has ended.'));
    const ended = [...this.#sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    this.#server.closeAllConnections();
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all([closed, ...ended, this.#watchServer?.close()]);
    await this.#allAnswered();
    this.#watch.close();
    for (const { hierarchy, writes } of Object.values(this.#options.buckets)) {
      hierarchy.off('closed', this.#onBucketClosed);
      if (writes !== undefined) await closeFor(this, writes.driver);
    }
  }

  /** Waits for all answers. Reads that were aborted have ended by then. */
  async #allAnswered(): Promise<void> {
    if (this.#answering === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }

  /** Requests of one connection are answered one after the other, even if a client sends many at once. */
  #take(message: IncomingMessage, response: ServerResponse): void {
    const { socket } = message;
    const before = this.#turns.get(socket);
    this.#turns.set(
      socket,
      before === undefined
        ? this.#answer(message, response)
        : before.then(() => this.#answer(message, response)),
    );
  }

  async #answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const { clock, limits, credentials, onAnswer } = this.#options;
    if (message.socket.destroyed) return;
    this.#answering += 1;
    const goOn = () => response.writeContinue();
    const entry = await new Exchange(message, response, {
      clock,
      stallMs: limits.stallMs,
      requestId: randomUUID(),
      now: epochMs,
      isLast: () => this.#closed !== undefined,
      carryOut: (understood, signal) =>
        route(message, {
          buckets: this.#buckets,
          writes: this.#writes,
          credentials,
          limits,
          now: epochMs(),
          body: (most) => {
            this.#expectEnd(message);
            return readBody(message, most, goOn);
          },
          pieces: () => arriving(message, { clock, stallMs: limits.stallMs, goOn }),
          understood,
          signal,
        }),
    }).run();
    this.#answering -= 1;
    this.#expectEnd(message);
    this.#metrics.count(entry);
    onAnswer?.(entry);
    if (this.#answering === 0) this.#onIdle?.();
  }

  /** Cuts off slow requests where Node does not. */
  #expectEnd(message: IncomingMessage): void {
    const { clock, limits } = this.#options;
    if (this.#writes.size > 0) expectEnd(message, clock, limits.requestMs);
  }
}

/**
 * Milliseconds since 1970 by the machine's clock. Signatures contain the date, which an injected clock does
 * not know.
 */
function epochMs(): number {
  return performance.timeOrigin + systemClock.now();
}

function changingKeysOf({ hierarchy, changing = [], writes }: GatewayBucket): ChangingKeys | undefined {
  const written = writes?.isShared === true ? writes.prefixes : [];
  if (changing.length + written.length === 0) return undefined;
  return new ChangingKeys(hierarchy, changing, written);
}
