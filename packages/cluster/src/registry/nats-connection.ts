import type { Bucket, KV } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/transport-node';
import { TieredError } from '@tiered/core';
import { configError, definedOf } from '@tiered/core/internal';
import { readFile } from 'node:fs/promises';
import { isBucketGone, isOtherSettings } from './nats-errors.js';
import type { NatsRegistryOptions, NatsSettings } from './nats-options.js';
import { Waiters } from './waiters.js';

/** Milliseconds for one attempt to connect, less than for a call, so that the call reports how it failed. */
const CONNECT_MS = 4000;
/** Milliseconds between two attempts to reconnect. */
const RECONNECT_MS = 500;
/** Milliseconds between pings. A server that has not answered two of them is left. */
const PING_MS = 5000;

/**
 * A connection to a NATS server, which reconnects for ever after it is lost. Requests wait here until it is
 * connected, because the client would keep them in memory.
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

  /** Connects for the first time. Fails if no server can be reached. */
  static async connect(options: NatsRegistryOptions, settings: NatsSettings): Promise<NatsLink> {
    const { transport, kv } = await importClient();
    const { token, user, password, credsFile, tls } = options;
    const creds = credsFile === undefined ? undefined : await credsOf(credsFile);
    const connection = await transport.connect({
      servers: [...settings.servers],
      timeout: CONNECT_MS,
      maxReconnectAttempts: -1,
      // Credentials that are wrong now may be valid again once the server has its configuration.
      ignoreAuthErrorAbort: true,
      reconnectTimeWait: RECONNECT_MS,
      pingInterval: PING_MS,
      ...(token !== undefined && { token }),
      ...(user !== undefined && { user, pass: password ?? '' }),
      ...(creds && { authenticator: transport.credsAuthenticator(creds) }),
      // The client treats a field that is present as given, even if it is undefined.
      ...(tls && { tls: definedOf(tls) }),
    });
    return new NatsLink(connection, kv, settings);
  }

  /** Whether the connection was closed for good, by `close` or for another reason. */
  get isClosed(): boolean {
    return this.#connection.isClosed();
  }

  /** Resolves when the server is connected. */
  async connected(signal: AbortSignal): Promise<void> {
    while (!this.#isConnected) await this.#reconnected.wait(signal);
  }

  /** The bucket. It is created if it is missing and may be created. */
  async bucket(): Promise<Bucket> {
    const opened = (this.#bucket ??= this.#open());
    try {
      return await opened;
    } catch (error) {
      if (this.#bucket === opened) this.#bucket = undefined;
      throw error;
    }
  }

  /** Makes the next call open the bucket again, because it no longer exists. */
  forgetBucket(): void {
    this.#bucket = undefined;
    for (const tell of [...this.#breaks]) tell();
  }

  /** Calls a listener when the connection or the bucket is lost. Returns a function that removes it. */
  onBreak(listener: () => void): () => void {
    this.#breaks.add(listener);
    return () => this.#breaks.delete(listener);
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #open(): Promise<Bucket> {
    const { bucket, ttlMs, replicas, make } = this.#settings;
    // Records are read from the server that takes the writes, since others may be behind.
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

  /** Tracks whether the server is connected. Ends with the connection. */
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
    // Waiting calls then find that it is closed.
    this.#isConnected = true;
    this.forgetBucket();
    this.#reconnected.wake();
  }
}

/** A bucket is all of this. Its declared type has less, so that it can have other implementations. */
const asBucket = (made: KV): Bucket => made as unknown as Bucket;

async function credsOf(file: string): Promise<Uint8Array> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    const { code } = cause as NodeJS.ErrnoException;
    throw configError('credsFile', `a file that can be read (${code})`, file);
  });
  // The client looks for both in the same way, and its message is no better than this one.
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
