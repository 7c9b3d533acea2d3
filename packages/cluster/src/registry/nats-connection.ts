import type { Bucket, KV } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/transport-node';
import { TieredError } from '@tiered/core';
import { configError, definedOf } from '@tiered/core/internal';
import { readFile } from 'node:fs/promises';
import { isBucketGone, isOtherSettings } from './nats-errors.js';
import type { NatsRegistryOptions, NatsSettings } from './nats-options.js';
import { Waiters } from './waiters.js';

/** Milliseconds for one attempt to connect, shorter than a call, which says how it has failed. */
const CONNECT_MS = 4000;
/** Milliseconds between two attempts to connect again. */
const RECONNECT_MS = 500;
/** A server that has not answered for two of these pings, in milliseconds, is left. */
const PING_MS = 5000;

/**
 * A connection to a server of NATS, which is made again for ever after it is lost. Requests wait until it is
 * there: the client would keep them in memory.
 */
export class NatsLink {
  readonly #connection: NatsConnection;
  readonly #kv: typeof import('@nats-io/kv');
  readonly #settings: NatsSettings;
  readonly #reconnected = new Waiters();
  readonly #breaks = new Set<() => void>();
  #isConnected = true;
  #bucket: Promise<Bucket> | undefined;

  private constructor(connection: NatsConnection, kv: typeof import('@nats-io/kv'), settings: NatsSettings) {
    this.#connection = connection;
    this.#kv = kv;
    this.#settings = settings;
    void this.#follow();
  }

  /** Connects for the first time, which fails if no server is there. */
  static async connect(options: NatsRegistryOptions, settings: NatsSettings): Promise<NatsLink> {
    const { transport, kv } = await importClient();
    const { token, user, password, credsFile, tls } = options;
    const creds = credsFile === undefined ? undefined : await credsOf(credsFile);
    const connection = await transport.connect({
      servers: [...settings.servers],
      timeout: CONNECT_MS,
      maxReconnectAttempts: -1,
      // Credentials that are wrong now may be right again when the server has its configuration.
      ignoreAuthErrorAbort: true,
      reconnectTimeWait: RECONNECT_MS,
      pingInterval: PING_MS,
      ...(token !== undefined && { token }),
      ...(user !== undefined && { user, pass: password ?? '' }),
      ...(creds && { authenticator: transport.credsAuthenticator(creds) }),
      // The client takes a field that is there for one that is given.
      ...(tls && { tls: definedOf(tls) }),
    });
    return new NatsLink(connection, kv, settings);
  }

  /** Whether the connection was given up, by `close` or for another reason. */
  get isClosed(): boolean {
    return this.#connection.isClosed();
  }

  /** Resolves when the server is there. */
  async connected(signal: AbortSignal): Promise<void> {
    while (!this.#isConnected) await this.#reconnected.wait(signal);
  }

  /** The bucket, which is made if it is not there and may be made. */
  async bucket(): Promise<Bucket> {
    const opened = (this.#bucket ??= this.#open());
    try {
      return await opened;
    } catch (error) {
      if (this.#bucket === opened) this.#bucket = undefined;
      throw error;
    }
  }

  /** Has the bucket be opened anew, as it is not there any more. */
  forgetBucket(): void {
    this.#bucket = undefined;
    for (const tell of [...this.#breaks]) tell();
  }

  /** Calls a listener when the connection or the bucket is lost. Returns what stops that. */
  onBreak(listener: () => void): () => void {
    this.#breaks.add(listener);
    return () => this.#breaks.delete(listener);
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #open(): Promise<Bucket> {
    const { bucket, ttlMs, replicas, make } = this.#settings;
    // Records are asked of the server that takes them, since others may be behind.
    const settings = { ttl: ttlMs, replicas, history: 1, allow_direct: false };
    const kvm = new this.#kv.Kvm(this.#connection);
    const create = () => kvm.create(bucket, { ...settings });
    const createAgain = (error: unknown) => {
      if (isOtherSettings(error)) return create();
      throw error;
    };
    const made = await (make ? create().catch(createAgain) : kvm.open(bucket, { ...settings }));
    const { ttl } = await made.status().catch((cause: unknown) => {
      if (make || !isBucketGone(cause)) throw cause;
      throw new TieredError('TIERED_NOT_FOUND', `There is no bucket ${bucket}.`, { cause });
    });
    if (ttl !== ttlMs) throw configError('ttlMs', `${ttl}, as the bucket ${bucket} has it`, ttlMs);
    return asBucket(made);
  }

  /** Knows whether the server is there. Ends with the connection. */
  async #follow(): Promise<void> {
    for await (const { type } of this.#connection.status()) {
      if (type === 'disconnect') {
        this.#isConnected = false;
        this.forgetBucket();
      } else if (type === 'reconnect') {
        this.#isConnected = true;
        this.#reconnected.wake();
      }
    }
    // Who waits finds that it is closed.
    this.#isConnected = true;
    this.forgetBucket();
    this.#reconnected.wake();
  }
}

/** A bucket is all of this; its type says less, so that others could be made. */
const asBucket = (made: KV): Bucket => made as unknown as Bucket;

async function credsOf(file: string): Promise<Uint8Array> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    const { code } = cause as NodeJS.ErrnoException;
    throw configError('credsFile', `a file that can be read (${code})`, file);
  });
  // As the client looks for both, which has no better message than this one.
  if ((text.match(/-{3,}\n.+\n\s*-{3,}/g) ?? []).length >= 2) return new TextEncoder().encode(text);
  throw configError('credsFile', 'a file with a JWT and its key, as nsc makes it', file);
}

async function importClient() {
  try {
    const [transport, kv] = await Promise.all([import('@nats-io/transport-node'), import('@nats-io/kv')]);
    return { transport, kv };
  } catch (cause) {
    const packages = '@nats-io/transport-node @nats-io/kv';
    throw new TieredError(
      'TIERED_CONFIG_INVALID',
      `A registry on NATS needs two packages: npm install ${packages}. Workers of one machine need none: use SqliteRegistry.`,
      { cause },
    );
  }
}
