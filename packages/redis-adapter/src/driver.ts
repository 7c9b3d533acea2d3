import type { ListOptions, ObjectStat, OperationOptions } from '@tiered/core';
import {
  BaseDriver,
  checkedPieces,
  type Operation,
  type ReadIntoOptions,
  type ReadOptions,
  type WriteData,
  type WriteOptions,
} from '@tiered/core/driver';
import { memoryFor, notOpenError } from '@tiered/core/internal';
import { ClusterSession } from './connection/cluster-session.js';
import { Failure } from './connection/failures.js';
import { sentinelSession } from './connection/sentinel-session.js';
import { Server } from './connection/server.js';
import { serverSession, type Session } from './connection/session.js';
import { explained } from './errors.js';
import { Keys } from './objects/head.js';
import { listObjects } from './objects/listing.js';
import { findHead, readObject } from './objects/reads.js';
import type { Store } from './objects/store.js';
import { deleteObject, writeObject } from './objects/writes.js';
import { checkedOptions, type CheckedRedisOptions, type RedisDriverOptions } from './options.js';

/**
 * Stores objects in the memory of Redis 7 or Valkey: one server, servers watched by Sentinels, or a cluster.
 * It is meant for a tier that several machines share, and the server may evict any key.
 *
 * **Guarantees.** A read returns all requested bytes from one write, or an error. An object whose head or any
 * chunk was evicted is missing. A half-written object is missing too. Each write has a unique version.
 *
 * **Cost.** An object of up to `chunk` is one key, and one command reads, writes or describes it. A larger
 * object has a key for each further chunk, in its own hash slot, and costs a command for each. Commands made
 * in the same turn of the event loop are sent together, so `readMany` takes one or two round trips to each
 * server.
 *
 * **Failures.** `open` sends nothing. Each command ends within `timeoutMs`. There are no retries and no
 * background attempts: the next command reconnects. Errors have a `RedisError` as their cause.
 *
 * - `TIERED_NOT_FOUND`: The object is missing.
 * - `TIERED_UNAVAILABLE`: The server does not answer, cannot be reached, is loading or is a replica; or the
 * cluster is down. `retryable`.
 * - `TIERED_PERMISSION`: The user or password is wrong, or the user lacks the permission.
 * - `TIERED_NO_SPACE`: The server is full and evicts nothing.
 * - `TIERED_SOURCE_CHANGED`: The object has another version than requested.
 * - `TIERED_EXISTS`: The object exists although it must not.
 * - `TIERED_DATA_CORRUPT`: The key holds a value that this driver did not write.
 * - `TIERED_CONFIG_INVALID`: The server is part of a cluster, is not one, or has no such database.
 * - `TIERED_UNSUPPORTED`: The server is older than Redis 7.
 *
 * An abort rejects at once. A command that was sent is not undone. Only commands that publish or delete are
 * waited for.
 */
export class RedisDriver extends BaseDriver {
  readonly #options: CheckedRedisOptions;
  #store: Store | undefined;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for invalid options. */
  constructor(options: RedisDriverOptions) {
    const checked = checkedOptions(options);
    const { location, writable } = checked;
    super({
      name: location.replace('://', ':'),
      location,
      capabilities: { list: true, write: writable, delete: writable },
    });
    this.#options = checked;
  }

  /** Connections that are open at present. */
  get openConnections(): number {
    return this.#store?.server.connections ?? 0;
  }

  protected override async openStorage(): Promise<void> {
    const { connection, prefix, chunk, ttlMs, concurrency, memory, writable, clock } = this.#options;
    const { timeoutMs } = connection;
    const connect = () => connected(this.#options);
    this.#store = {
      server: new Server({ connect, timeoutMs, concurrency, memory, clock }),
      keys: new Keys(prefix),
      ...{ chunk, ttlMs, isWritable: writable },
    };
  }

  protected override async closeStorage(): Promise<void> {
    const store = this.#store;
    this.#store = undefined;
    await store?.server.close();
  }

  /** Costs one command. */
  protected async statObject(key: string, { signal }: OperationOptions): Promise<ObjectStat> {
    const { id, size } = await findHead(this.#running, { driver: this, operation: 'stat', key, signal });
    return { key, size, version: id };
  }

  /**
   * Scans every key of each server, including those of other programs, 1000 at a time, and sends a command
   * for each object. Keeps all keys in memory until it ends. Objects written or deleted meanwhile may be
   * listed or not.
   */
  protected override listObjects(options: ListOptions): AsyncIterable<readonly ObjectStat[]> {
    return listObjects(this.#running, options);
  }

  /** Like `readRangeInto`. Allocates memory only once the size is known. */
  protected async readRange(key: string, options: ReadOptions): Promise<Uint8Array> {
    let target = memoryFor(0);
    const memory = (bytes: number) => (target = memoryFor(bytes, key));
    await readObject(this.#running, { ...options, driver: this, operation: 'read', key, memory });
    return target;
  }

  /** Costs one command for a range of the first chunk, and one more for each further chunk. */
  protected override readRangeInto(
    key: string,
    target: Uint8Array,
    options: ReadIntoOptions,
  ): Promise<number> {
    const length = target.byteLength;
    const memory = () => target;
    return readObject(this.#running, {
      ...options,
      length,
      driver: this,
      operation: 'readInto',
      key,
      memory,
    });
  }

  /**
   * Follows the contract. Costs one command up to `chunk`, else one for each chunk, and takes the memory of
   * at most 6 chunks. `ifAbsent` uses the server's NX. If the last answer is lost, the object may exist
   * although this rejects.
   */
  override write(key: string, data: WriteData, options: WriteOptions): Promise<void> {
    const { size, signal, ifAbsent = false } = options;
    return this.guarded('write', key, options, () =>
      writeObject(this.#running, checkedPieces(this, key, data, { size, signal }), {
        ...{ driver: this, key, size, ifAbsent, signal },
      }),
    );
  }

  /** Costs one command, and one for each further chunk. */
  protected override deleteObject(key: string, { signal }: OperationOptions): Promise<void> {
    return deleteObject(this.#running, key, signal);
  }

  /** Returns errors that are no failure of a command unchanged. */
  protected override explained(error: unknown, operation: Operation, key: string | undefined): unknown {
    if (!(error instanceof Failure)) return error;
    return explained(error, { driver: this, operation, key, secrets: this.#options.secrets });
  }

  get #running(): Store {
    if (this.#store === undefined) throw notOpenError(this.name);
    return this.#store;
  }
}

function connected({ servers, connection }: CheckedRedisOptions): Session {
  if (servers.kind === 'server') return serverSession(servers.address, connection);
  if (servers.kind === 'sentinel') return sentinelSession(servers.sentinel, connection);
  return new ClusterSession(servers.nodes, connection);
}
