import { createClient, RESP_TYPES, type RedisArgument } from 'redis';
import type { Address, Credentials, ServerOptions } from '../options.js';

/** A part of a command: text is sent as UTF-8. */
export type Argument = RedisArgument;

/** A reply of Redis. Strings are Buffers. */
export type Reply = Buffer | string | number | null | readonly Reply[];

/** Sends a command to a certain server. */
export type Send = (args: readonly Argument[]) => Promise<Reply>;

/**
 * Connections to a server, or to the servers of a cluster. A session that has lost them does not reconnect:
 * the next caller makes a new session. So there are no background attempts, and each wait has a caller with a
 * deadline. Commands of one turn of the event loop are sent together.
 */
export interface Session {
  /**
   * Resolves once commands can be sent. Rejects if the server cannot be reached, or the session is destroyed.
   */
  readonly ready: Promise<void>;
  /** Aborts when the session is destroyed: sent commands will not be answered any more. */
  readonly gone: AbortSignal;
  /** Whether commands can be sent, or soon can. */
  readonly isOpen: boolean;
  /** Connections that are open. */
  readonly connections: number;
  /** Sends a command about one key to the server that has the key. */
  send(key: string, args: readonly Argument[]): Promise<Reply>;
  /** The servers that have keys; together they have all of them. */
  masters(): readonly Send[];
  /** Ends the connections once all sent commands are answered. */
  close(): Promise<void>;
  /** Ends the connections at once. Sent commands reject. Idempotent. */
  destroy(): void;
}

/** The package returns text by default. Its own timeout would cost a timer for each command. */
export const COMMANDS = { timeout: 0, typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } };

/** Options of the package's client for each server. */
export function clientOptions({ tls, timeoutMs }: ServerOptions, { username, password }: Credentials) {
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    disableOfflineQueue: true,
    // The client-info commands need permissions that users seldom have.
    disableClientInfo: true,
    maintNotifications: 'disabled' as const,
    socket: {
      reconnectStrategy: false as const,
      connectTimeout: timeoutMs,
      ...(tls !== undefined && { ...tls, tls: true as const }),
    },
  };
}

/** Makes a client of one server, which is not connected yet. */
export function clientOf(address: Address, options: ServerOptions, credentials: Credentials = options) {
  const { socket, ...common } = clientOptions(options, credentials);
  const { database } = options;
  const client = createClient({
    ...common,
    ...(database > 0 && { database }),
    commandOptions: COMMANDS,
    socket: { ...socket, ...address },
  });
  // Callers that wait for an answer get the error.
  client.on('error', () => undefined);
  return client;
}

/** A client of one server. */
export type Client = ReturnType<typeof clientOf>;

/** Connections to one server that has all keys. */
export class SingleSession implements Session {
  readonly ready: Promise<void>;
  readonly #gone = new AbortController();
  readonly #attempts = new Set<Client>();
  #client: Client | undefined;
  #isEnded = false;

  /**
   * @param connect Finds and connects a client. It uses `attempt` to connect, so that the client can be
   * destroyed.
   */
  constructor(connect: (attempt: (client: Client) => Promise<Client>) => Promise<Client>) {
    this.ready = connect((client) => this.#attempt(client)).then((client) => this.#connected(client));
    this.ready.catch(() => this.destroy());
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  get isOpen(): boolean {
    return !this.#isEnded && this.#client?.isOpen !== false;
  }

  get connections(): number {
    return [...this.#attempts].filter(({ isOpen }) => isOpen).length;
  }

  send(_: string, args: readonly Argument[]): Promise<Reply> {
    return this.#send(args);
  }

  masters(): readonly Send[] {
    return [(args) => this.#send(args)];
  }

  async close(): Promise<void> {
    this.#isEnded = true;
    if (this.#client?.isOpen === true) await this.#client.close();
    this.destroy();
  }

  destroy(): void {
    this.#isEnded = true;
    for (const client of this.#attempts) client.destroy();
    this.#gone.abort();
  }

  async #attempt(client: Client): Promise<Client> {
    if (this.#isEnded || this.#client !== undefined) throw closed();
    this.#attempts.add(client);
    await client.connect();
    return client;
  }

  #connected(client: Client): void {
    this.#client = client;
    if (this.#isEnded) this.destroy();
    for (const other of this.#attempts) if (other !== client) other.destroy();
  }

  async #send(args: readonly Argument[]): Promise<Reply> {
    if (this.#client === undefined) throw closed();
    return this.#client.sendCommand<Reply>([...args]);
  }
}

/** Connects to the one server. */
export function serverSession(address: Address, options: ServerOptions): Session {
  return new SingleSession((attempt) => attempt(clientOf(address, options)));
}

function closed(): Error {
  return new Error('the connection is closed');
}
