import { systemClock, TieredError } from '@tiered/core';
import { randomUUID } from 'node:crypto';
import type net from 'node:net';

/**
 * Turns of the event loop to wait for a second connection. A client connects and attaches before it asks, so
 * the event loop has it all after two or three turns.
 */
const TURNS = 20;

/**
 * Matches the two connections of each client that shares memory. The client takes samples over the first one.
 * Its native part makes the second one to receive a descriptor, which Node's sockets cannot do. The second
 * connection sends a token that the first one received.
 */
export class Handovers {
  /** The memory that a client is offered, in bytes. */
  readonly bytes: number;
  /** By each issued and unused token: the second connection, if it has come. */
  readonly #attached = new Map<string, net.Socket | undefined>();

  constructor(bytes: number) {
    this.bytes = bytes;
  }

  /** Makes an unguessable token for one client. */
  offer(): string {
    const token = randomUUID();
    this.#attached.set(token, undefined);
    return token;
  }

  /**
   * Takes a connection that sends a token. Closes it if the token is unknown or already has a connection: its
   * client is gone, or it is a stranger.
   */
  attach(token: string, socket: net.Socket): void {
    if (this.#attached.has(token) && this.#attached.get(token) === undefined)
      this.#attached.set(token, socket);
    else socket.destroy();
  }

  /**
   * Returns a client's second connection. Can be called once for each token.
   * @returns The descriptor, and a function that closes the connection. The connection must not be used
   * otherwise.
   * @throws TieredError `TIERED_UNAVAILABLE` if the connection does not come.
   */
  async taken(token: string): Promise<{ readonly descriptor: number; readonly close: () => void }> {
    for (let turn = 0; turn < TURNS && this.#attached.get(token) === undefined; turn++)
      await systemClock.turn();
    const socket = this.#attached.get(token);
    this.#attached.delete(token);
    const descriptor = socket && descriptorOf(socket);
    if (socket === undefined || descriptor === undefined) throw notAttached();
    return { descriptor, close: () => void socket.destroy() };
  }

  /** Drops the token of a client that is gone. */
  withdraw(token: string): void {
    this.#attached.get(token)?.destroy();
    this.#attached.delete(token);
  }
}

/**
 * Returns the descriptor of a socket. Node does not document it, but has always had it on systems where
 * sockets have paths. Undefined if it is missing.
 */
function descriptorOf(socket: net.Socket): number | undefined {
  const { _handle: handle } = socket as unknown as { readonly _handle?: { readonly fd?: unknown } | null };
  return typeof handle?.fd === 'number' && handle.fd >= 0 ? handle.fd : undefined;
}

function notAttached(): TieredError {
  return new TieredError(
    'TIERED_UNAVAILABLE',
    'The connection that is to receive shared memory has not come; samples come through the socket.',
  );
}
