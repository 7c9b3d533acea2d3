import { systemClock, TieredError } from '@tiered/core';
import { randomUUID } from 'node:crypto';
import type net from 'node:net';

/**
 * How many turns of the event loop a second connection is waited for. A client connects and attaches before
 * it asks, so the event loop has it all after two or three turns.
 */
const TURNS = 20;

/**
 * Brings together the two connections of each client that is to share memory. By the first one it takes
 * samples. The second one is made by its native part to receive a descriptor, which Node's sockets cannot do.
 * It says a token that the first one was told.
 */
export class Handovers {
  /** The memory that a client is offered, in bytes. */
  readonly bytes: number;
  /** By each token that was told and not used yet: the second connection, if it has come. */
  readonly #attached = new Map<string, net.Socket | undefined>();

  constructor(bytes: number) {
    this.bytes = bytes;
  }

  /** Makes a token for one client. Nobody else can guess it. */
  offer(): string {
    const token = randomUUID();
    this.#attached.set(token, undefined);
    return token;
  }

  /**
   * Takes a connection that says a token. Closes it if the token is unknown or has a connection already: its
   * client is gone, or it is a stranger.
   */
  attach(token: string, socket: net.Socket): void {
    if (this.#attached.has(token) && this.#attached.get(token) === undefined)
      this.#attached.set(token, socket);
    else socket.destroy();
  }

  /**
   * Hands out a client's second connection. Can be called once for each token.
   * @returns The descriptor, and what closes the connection. The connection must not be used otherwise.
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

  /** Tells that the client of this token is gone. */
  withdraw(token: string): void {
    this.#attached.get(token)?.destroy();
    this.#attached.delete(token);
  }
}

/**
 * Returns the descriptor of a socket. Node does not document it, but has always had it where sockets have
 * paths. Undefined if it is not there.
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
