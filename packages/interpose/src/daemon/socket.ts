import { isTieredError } from '@tiered/core';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';

const { ENOENT, EACCES, ENOSPC, EMFILE, EIO } = os.constants.errno;
const NUMBERS = new Map<string, number>([
  ['TIERED_NOT_FOUND', ENOENT],
  ['TIERED_PERMISSION', EACCES],
  ['TIERED_NO_SPACE', ENOSPC],
  ['TIERED_TOO_MANY_OPEN', EMFILE],
]);

/** The first letters of questions, as in src-c/ask.h; `r` is of ask-daemon.ts. A key follows, and a NUL. */
const KINDS = new Map([
  ['o', 'readable'],
  ['d', 'complete'],
  ['r', 'rescan'],
] as const);
/** The longest message that means something: a letter, the longest path, and a NUL. */
const MOST_BYTES = 4098;
const ENAMETOOLONG = 36;
/** Bytes of answers that wait until a program takes them. One that asks for more is not served any more. */
const MOST_WAITING = 65_536;
/** Programs that wait at the same time. Others are refused, and try again. */
const MOST_CONNECTIONS = 4096;

/** A copy that stays until it is let go. */
export interface HeldCopy {
  readonly path: string;
  readonly letGo: () => void;
}

/** Questions of programs. */
export interface Conversation {
  /** Makes an object readable. */
  readonly readable: (key: string) => Promise<HeldCopy>;
  /** Makes a directory list all its files. */
  readonly complete: (directory: string, signal: AbortSignal) => Promise<void>;
  /** Lists the source again. */
  readonly rescan: (signal: AbortSignal) => Promise<void>;
}

/** The socket at which programs reach the daemon. */
export class SessionSocket {
  readonly #server: net.Server;
  readonly #conversation: Conversation;
  readonly #closing = new AbortController();
  readonly #connections = new Set<net.Socket>();
  #holding = 0;
  readonly #whenLetGo: (() => void)[] = [];

  /** @param path Of the socket, which only this user can open. */
  static async at(path: string, conversation: Conversation): Promise<SessionSocket> {
    const socket = new SessionSocket(conversation);
    socket.#server.listen({ path, backlog: MOST_CONNECTIONS });
    await once(socket.#server, 'listening');
    // A program that cannot connect reads the source, or finds that an object cannot be read.
    socket.#server.on('error', () => undefined);
    fs.chmodSync(path, 0o600);
    return socket;
  }

  private constructor(conversation: Conversation) {
    this.#conversation = conversation;
    this.#server = net.createServer((connection) => {
      connection.on('error', () => undefined);
      this.#connections.add(connection);
      connection.once('close', () => this.#connections.delete(connection));
      void this.#serve(connection);
    });
    this.#server.maxConnections = MOST_CONNECTIONS;
  }

  /** Resolves when no program holds a copy any more that it was told of. */
  async idle(): Promise<void> {
    while (this.#holding > 0) await new Promise<void>((resolve) => this.#whenLetGo.push(resolve));
  }

  /** Programs that wait for an answer get none. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const connection of this.#connections) connection.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Answers the questions of a connection one after the other, until it ends. */
  async #serve(connection: net.Socket): Promise<void> {
    const held: HeldCopy[] = [];
    try {
      for await (const message of messagesIn(connection)) {
        this.#letGo(held);
        const copy = await this.#take(connection, message);
        if (connection.writableLength > MOST_WAITING) connection.destroy();
        if (copy === undefined) continue;
        held.push(copy);
        this.#holding += 1;
      }
    } catch {
      // The program is gone.
    } finally {
      this.#letGo(held);
      connection.destroy();
    }
  }

  #letGo(held: HeldCopy[]): void {
    const copy = held.pop();
    if (copy === undefined) return;
    this.#holding -= 1;
    copy.letGo();
    if (this.#holding === 0) for (const resolve of this.#whenLetGo.splice(0)) resolve();
  }

  async #take(connection: net.Socket, message: string): Promise<HeldCopy | undefined> {
    const { readable, complete, rescan } = this.#conversation;
    const kind = KINDS.get(message.slice(0, 1) as 'o');
    const text = message.slice(1);
    let copy: HeldCopy | undefined;
    try {
      if (kind === undefined) connection.destroy();
      else {
        if (kind === 'readable') copy = await readable(text);
        else if (kind === 'complete') await complete(text, this.#closing.signal);
        else await rescan(this.#closing.signal);
        connection.write(`+${copy?.path ?? ''}\0`);
      }
    } catch (error) {
      // Programs know numbers; of a listing, people are told.
      const told = kind === 'rescan' ? ownWords(error) : errnoOf(error);
      connection.write(`-${told}\0`);
    }
    return copy;
  }
}

function ownWords(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replaceAll('\0', ' ');
}

/** The messages of a connection, without their NUL. Ends after one that is too long. */
async function* messagesIn(connection: net.Socket): AsyncGenerator<string, void, undefined> {
  let rest = Buffer.alloc(0);
  for await (const chunk of connection as AsyncIterable<Buffer>) {
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(0); end !== -1; end = rest.indexOf(0)) {
      const message = rest.toString('utf8', 0, end);
      rest = rest.subarray(end + 1);
      yield message;
    }
    if (rest.byteLength > MOST_BYTES) {
      connection.write(`-${ENAMETOOLONG}\0`);
      return;
    }
  }
}

/** The number by which programs know what went wrong; EIO for what has no number. */
function errnoOf(error: unknown): number {
  if (isTieredError(error)) return NUMBERS.get(error.code) ?? EIO;
  const { code } = error as NodeJS.ErrnoException;
  return (code !== undefined && os.constants.errno[code as keyof typeof os.constants.errno]) || EIO;
}
