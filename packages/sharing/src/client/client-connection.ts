import { isTieredError, TieredError, type ErrorCode } from '@tiered/core';
import { onAbort, raceAbort } from '@tiered/core/internal';
import net from 'node:net';
import pLimit, { type LimitFunction } from 'p-limit';
import { ClientMemory, type MemoryOffer } from './client-memory.js';
import { errorFrom } from '../error-body.js';
import { FrameDecoder, type Payload } from '../wire/frame-decoder.js';
import {
  CLIENT_FRAMES,
  encodeHead,
  malformed,
  PROTOCOL,
  SERVER_FRAMES,
  VERSION,
  type Frame,
  type SampleHead,
} from '../wire/protocol.js';
import { listedSamples } from '../wire/sample-lists.js';
import { assertSocketPath } from '../server/socket-path.js';
import { assertTrusted, type Trust } from './socket-trust.js';

/**
 * Bytes of the receive buffer, from which received bytes are copied to their place. It holds the result of
 * one system call.
 */
const RECEIVE_BYTES = 256 * 1024;

/** System calls made before there is a connection. */
const CONNECTING: ReadonlySet<string> = new Set(['lstat', 'readlink', 'connect']);

const LAST_ID = 2 ** 32 - 1;

type ServerFrame = Frame<typeof SERVER_FRAMES>;
type Greeting = Extract<ServerFrame, { type: 'hello' }>['body'];

/** Takes the parts of an answer as they come. Throws if a part does not belong to the answer. */
export interface Answer {
  sample(head: SampleHead): void;
  data(bytes: Uint8Array): void;
  /** Called when everything has come. */
  end(): void;
}

/** The answer of a request that has only an end. */
const NO_ANSWER: Answer = { sample: unexpected, data: unexpected, end: () => undefined };

interface Pending {
  readonly answer: Answer;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Options of a client's connection. */
export interface ConnectionOptions {
  readonly path: string;
  readonly trust: Trust;
  /** Whether to share memory if possible. */
  readonly sharesMemory: boolean;
}

/**
 * One connection to a server. Several requests may be in flight, each with its own answer. Requests beyond
 * the server's limit wait here.
 */
export class ClientConnection {
  readonly #socket: net.Socket;
  readonly #decoder = new FrameDecoder(SERVER_FRAMES);
  readonly #pending = new Map<number, Pending>();
  readonly #closed: Promise<void>;
  #greeting: { readonly resolve: () => void; readonly reject: (error: unknown) => void } | undefined;
  #requests: LimitFunction = pLimit(1);
  #maxSamples = 1;
  #offer: MemoryOffer | undefined;
  #memory: ClientMemory | undefined;
  #lastId = 0;
  #isGreeted = false;
  /** The reason why the connection has ended. */
  #ended: { readonly reason: unknown } | undefined;

  private constructor(path: string) {
    const buffer = Buffer.allocUnsafeSlow(RECEIVE_BYTES);
    const callback = (bytes: number) => this.#receive(buffer.subarray(0, bytes));
    this.#socket = net.connect({ path, onread: { buffer, callback } });
    this.#closed = new Promise((resolve) => {
      this.#socket.once('close', () => {
        this.end(lost());
        resolve();
      });
    });
    this.#socket.on('error', (error) => this.end(fromSystem(error, path)));
  }

  /**
   * Connects to a socket of trusted users, exchanges greetings, and shares memory if possible. An abort
   * rejects with `signal.reason`, and cleans up.
   */
  static async open(
    { path, trust, sharesMemory }: ConnectionOptions,
    signal: AbortSignal | undefined,
  ): Promise<ClientConnection> {
    assertSocketPath(path);
    signal?.throwIfAborted();
    if (trust !== 'any') await raceAbort(found(path, trust), signal);
    const connection = new ClientConnection(path);
    try {
      await raceAbort(connection.#greet(), signal);
      if (sharesMemory) await raceAbort(connection.#shareMemory(path, trust), signal);
      connection.#socket.unref();
      return connection;
    } catch (error) {
      await connection.close(error);
      throw error;
    }
  }

  /** The shared memory of samples. Undefined if they come through the socket. */
  get memory(): ClientMemory | undefined {
    return this.#memory;
  }

  /** The most samples that one request may ask for. */
  get maxSamples(): number {
    return this.#maxSamples;
  }

  /**
   * Sends a request. Resolves once its whole answer was passed to `answer`. An abort is forwarded to the
   * server, and does not end the wait: the answer ends soon, and parts already in transfer are passed to
   * `answer` too.
   * @param frame Makes the request with the given id.
   * @throws The server's error, or the error that ended the connection.
   */
  request(frame: (id: number) => Buffer, answer: Answer, signal: AbortSignal | undefined): Promise<void> {
    return this.#requests(async () => {
      signal?.throwIfAborted();
      if (this.#ended !== undefined) throw this.#ended.reason;
      const id = this.#nextId();
      const head = frame(id);
      let stopListening = () => {};
      try {
        await new Promise<void>((resolve, reject) => {
          this.#pending.set(id, { answer, resolve, reject });
          this.#socket.ref();
          this.#socket.write(head);
          stopListening = onAbort(signal, () => {
            this.#socket.write(encodeHead(CLIENT_FRAMES.abort, id, undefined));
          });
        });
      } finally {
        stopListening();
        // A client without pending requests does not keep the process alive.
        if (this.#pending.size === 0) this.#socket.unref();
      }
    });
  }

  /** Rejects all pending and later requests with `reason`. Only the first reason counts. */
  end(reason: unknown): void {
    if (this.#ended !== undefined) return;
    this.#ended = { reason };
    this.#greeting?.reject(reason);
    for (const { reject } of this.#pending.values()) reject(reason);
    this.#pending.clear();
    this.#socket.destroy();
  }

  /** Like `end`. Resolves when the socket is closed. */
  close(reason: unknown): Promise<void> {
    this.end(reason);
    return this.#closed;
  }

  #greet(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#greeting = { resolve, reject };
      this.#socket.write(encodeHead(CLIENT_FRAMES.hello, 0, { protocol: PROTOCOL, version: VERSION }));
    });
  }

  async #shareMemory(path: string, trust: Trust): Promise<void> {
    if (this.#offer === undefined) return;
    const share = (id: number) => encodeHead(CLIENT_FRAMES.share, id, undefined);
    const ask = () => this.request(share, NO_ANSWER, undefined);
    this.#memory = await ClientMemory.receive(path, trust, this.#offer, ask);
    if (this.#ended !== undefined) throw this.#ended.reason;
  }

  #nextId(): number {
    do this.#lastId = this.#lastId === LAST_ID ? 1 : this.#lastId + 1;
    while (this.#pending.has(this.#lastId));
    return this.#lastId;
  }

  /** @returns True: more bytes are wanted. */
  #receive(chunk: Uint8Array): boolean {
    try {
      for (const frame of this.#decoder.push(chunk)) {
        if (this.#ended === undefined) this.#accept(frame);
      }
    } catch (error) {
      this.end(error);
    }
    return true;
  }

  #accept(frame: ServerFrame | Payload): void {
    if (frame.type === 'hello') this.#begin(frame.body);
    else if (frame.type === 'error' && frame.id === 0) this.end(errorFrom(frame.body));
    else this.#answer(frame);
  }

  #begin({ maxRequests, maxSamples, token, memoryBytes }: Greeting): void {
    if (this.#isGreeted) throw malformed('a second hello');
    this.#isGreeted = true;
    this.#requests = pLimit(maxRequests);
    this.#maxSamples = maxSamples;
    if (token !== undefined && memoryBytes !== undefined) this.#offer = { token, bytes: memoryBytes };
    this.#greeting?.resolve();
  }

  #answer(frame: Exclude<ServerFrame, { type: 'hello' }> | Payload): void {
    const pending = this.#pending.get(frame.id);
    if (pending === undefined) throw malformed(`there is no request ${frame.id}`);
    switch (frame.type) {
      case 'sample':
        pending.answer.sample(frame.body);
        break;
      case 'samples':
        for (const head of listedSamples(frame.body)) pending.answer.sample(head);
        break;
      case 'payload':
        pending.answer.data(frame.bytes);
        break;
      case 'data':
        // Its bytes follow as payload.
        break;
      case 'end':
        pending.answer.end();
        this.#pending.delete(frame.id);
        pending.resolve();
        break;
      case 'error':
        this.#pending.delete(frame.id);
        pending.reject(errorFrom(frame.body));
        break;
    }
  }
}

async function found(path: string, trust: readonly number[]): Promise<void> {
  try {
    await assertTrusted(path, trust);
  } catch (error) {
    throw isTieredError(error) ? error : fromSystem(error as Error, path);
  }
}

function unexpected(): never {
  throw malformed('a sample or data that nobody asked for');
}

function lost(): TieredError {
  return new TieredError(
    'TIERED_UNAVAILABLE',
    'The server of this prefetcher is gone; connect again when it is back.',
  );
}

/** Converts a socket's error. Reconnecting may succeed. A call on a broken connection never will. */
function fromSystem(cause: Error, path: string): TieredError {
  const errno = (cause as NodeJS.ErrnoException).code ?? '';
  const code: ErrorCode =
    errno === 'EACCES' || errno === 'EPERM' ? 'TIERED_PERMISSION' : 'TIERED_UNAVAILABLE';
  return new TieredError(
    code,
    `The server of the prefetcher at ${JSON.stringify(path)} cannot be reached (${errno}); it must be running, as this user.`,
    { cause, retryable: CONNECTING.has((cause as NodeJS.ErrnoException).syscall ?? '') },
  );
}
