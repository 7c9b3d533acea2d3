import { systemClock, TieredError } from '@tiered/core';
import { randomUUID } from 'node:crypto';
import type net from 'node:net';

/**
 * A client connects and attaches before it asks, so that the event loop has all of it after two or three
 * turns.
 */
const TURNS = 20;

/**
 * Brings together the two connections of each client that is to share memory: the one by which it takes
 * samples, and one that its native part made to receive a descriptor, which Node's sockets cannot. The second
 * says a word that the first was told.
 */
export class Handovers {
  /** Bytes that a client is offered. */
  readonly bytes: number;
  /**
   * Of each word that a client was told and that was not used yet, the second connection, if that has come.
   */
  readonly #attached = new Map<string, net.Socket | undefined>();

  constructor(bytes: number) {
    this.bytes = bytes;
  }

  /** A word for one client, that nobody else can guess. */
  offer(): string {
    const token = randomUUID();
    this.#attached.set(token, undefined);
    return token;
  }

  /**
   * A connection says a word. One that is not known, or is known already, is closed: its client is gone, or
   * it is a stranger.
   */
  attach(token: string, socket: net.Socket): void {
    if (this.#attached.has(token) && this.#attached.get(token) === undefined)
      this.#attached.set(token, socket);
    else socket.destroy();
  }

  /**
   * The descriptor of the second connection of a client, of which nothing else is to be made. Once.
   * @throws TieredError `TIERED_UNAVAILABLE` if it does not come.
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

  /** The client of this word is gone. */
  withdraw(token: string): void {
    this.#attached.get(token)?.destroy();
    this.#attached.delete(token);
  }
}

/**
 * Node does not document it, and has always had it where sockets have paths; undefined if it is not there.
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
