import { TieredError } from '@tiered/core';
import type net from 'node:net';
import pLimit from 'p-limit';
import { errorBody } from '../error-body.js';
import type { SampleReader } from '@tiered/prefetch';
import { FrameDecoder, type Payload } from '../wire/frame-decoder.js';
import type { Handovers } from './handovers.js';
import { piecesOf, type PieceReader } from './pieces.js';
import {
  CLIENT_FRAMES,
  encodeHead,
  malformed,
  PROTOCOL,
  SERVER_FRAMES,
  VERSION,
  type Frame,
} from '../wire/protocol.js';
import { groupsOf } from './sample-frames.js';
import { ServerMemory } from './server-memory.js';

/** An empty write, which completes once everything before it is written. */
const NOTHING = new Uint8Array();

/** The id of messages that concern the whole connection. */
const NO_REQUEST = 0;

/** The limits of a client. */
interface ConnectionLimits {
  /** The most concurrent requests. */
  readonly maxRequests: number;
  /** The most samples of one request. */
  readonly maxSamples: number;
}

/** The server's services for a connection. */
export interface ConnectionHost {
  readonly reader: SampleReader & PieceReader;
  readonly limits: ConnectionLimits;
  /** Gives clients shared memory. Undefined if they get none. */
  readonly handovers: Handovers | undefined;
  /**
   * Called when the client has said hello.
   * @throws The error that refuses the client.
   */
  admit(): void;
  /** Called when the client broke the protocol or was refused. */
  failed(error: unknown): void;
}

type ClientFrame = Frame<typeof CLIENT_FRAMES>;
type Request = Extract<ClientFrame, { type: 'take' | 'read' }>;

/** A request that has no answer yet. */
interface Running {
  readonly controller: AbortController;
  readonly done: Promise<void>;
}

/**
 * One client of a server. Its takes are served one after the other, each one only once the socket has
 * accepted the previous answer. So a client that does not read withholds at most the samples of one take from
 * others. Requests that it sends without reading its answers stay in the socket.
 */
export class ServerConnection {
  readonly #socket: net.Socket;
  readonly #host: ConnectionHost;
  readonly #decoder = new FrameDecoder(CLIENT_FRAMES);
  readonly #requests = new Map<number, Running>();
  readonly #takes = pLimit(1);
  /** Resolves when the socket is closed and everything done for this client has ended. */
  readonly closed: Promise<void>;
  /** `attached` is the second connection of a client, over which it receives memory. */
  #role: 'unknown' | 'client' | 'attached' = 'unknown';
  /** Identifies the second connection. */
  #token: string | undefined;
  #memory: ServerMemory | undefined;

  constructor(socket: net.Socket, host: ConnectionHost) {
    this.#socket = socket;
    this.#host = host;
    this.closed = new Promise((resolve) => {
      socket.once('close', () => resolve(this.#abandon()));
    });
    // A client that dies is no error of the server. Only the 'close' that follows matters.
    socket.on('error', () => undefined);
    socket.on('drain', () => socket.resume());
    socket.on('data', (chunk) => this.#receive(chunk));
  }

  /** Sends the client the reason, if the socket takes it at once, and closes. */
  close(reason: unknown): void {
    if (this.#socket.destroyed) return;
    this.#socket.write(encodeHead(SERVER_FRAMES.error, NO_REQUEST, errorBody(reason)));
    this.#socket.destroy();
  }

  async #abandon(): Promise<void> {
    const running = [...this.#requests.values()];
    for (const { controller } of running) controller.abort(gone());
    if (this.#token !== undefined) this.#host.handovers?.withdraw(this.#token);
    await Promise.all(running.map(({ done }) => done));
    this.#memory?.close();
  }

  #receive(chunk: Uint8Array): void {
    try {
      for (const frame of this.#decoder.push(chunk)) this.#obey(frame);
    } catch (error) {
      this.#host.failed(error);
      this.close(error);
    }
    if (this.#socket.writableNeedDrain) this.#socket.pause();
  }

  #obey(frame: ClientFrame | Payload): void {
    if (this.#role === 'attached') throw malformed('a frame behind attach');
    const isFirst = frame.type === 'hello' || frame.type === 'attach';
    if (isFirst !== (this.#role === 'unknown'))
      throw malformed(isFirst ? 'a second hello, or attach' : 'the first frame is not hello');
    switch (frame.type) {
      case 'hello':
        this.#greet(frame.body.version);
        break;
      case 'take':
        if (frame.body.most > this.#host.limits.maxSamples) throw malformed('take asks for too many samples');
        this.#start(frame.id, (signal) => this.#takes(() => this.#take(frame, signal)));
        break;
      case 'read':
        this.#start(frame.id, (signal) => this.#read(frame, signal));
        break;
      case 'abort':
        this.#requests.get(frame.id)?.controller.abort();
        break;
      case 'attach':
        this.#attach(frame.body.token);
        break;
      case 'share':
        this.#start(frame.id, () => this.#share());
        break;
      case 'release':
        if (this.#memory === undefined) throw malformed('it gives back memory that it does not have');
        this.#memory.release(frame.body.first, frame.body.count);
        break;
      case 'payload':
        throw malformed('clients send no payload');
    }
  }

  #greet(version: number): void {
    if (version !== VERSION)
      throw new TieredError(
        'TIERED_VERSION_MISMATCH',
        `The server of this prefetcher speaks version ${VERSION} of the protocol, the client version ${version}; use the same version of @tiered/sharing for both.`,
      );
    this.#host.admit();
    this.#role = 'client';
    const { limits, handovers } = this.#host;
    const { maxRequests, maxSamples } = limits;
    this.#token = handovers?.offer();
    const memory = handovers && this.#token && { token: this.#token, memoryBytes: handovers.bytes };
    const body = { protocol: PROTOCOL, version: VERSION, maxRequests, maxSamples, ...memory } as const;
    this.#socket.write(encodeHead(SERVER_FRAMES.hello, NO_REQUEST, body));
  }

  #attach(token: string): void {
    this.#role = 'attached';
    if (this.#host.handovers === undefined) this.#socket.destroy();
    else this.#host.handovers.attach(token, this.#socket);
  }

  async #share(): Promise<readonly Uint8Array[]> {
    const { handovers } = this.#host;
    if (handovers === undefined || this.#token === undefined || this.#memory !== undefined)
      throw notOffered();
    const { descriptor, close } = await handovers.taken(this.#token);
    try {
      if (!this.#socket.destroyed) this.#memory = new ServerMemory(descriptor, handovers.bytes);
    } finally {
      close();
    }
    return [];
  }

  /** @param answer Resolves to the parts still to be written, together with the last frame. */
  #start(id: number, answer: (signal: AbortSignal) => Promise<readonly Uint8Array[]>): void {
    if (id === NO_REQUEST || this.#requests.has(id)) throw malformed(`the id ${id} is in use`);
    if (this.#requests.size >= this.#host.limits.maxRequests) throw malformed('too many requests under way');
    const controller = new AbortController();
    const done = answer(controller.signal)
      .then(
        (rest) => Buffer.concat([...rest, encodeHead(SERVER_FRAMES.end, id, undefined)]),
        (error: unknown) => encodeHead(SERVER_FRAMES.error, id, errorBody(error)),
      )
      .then((last) => {
        this.#requests.delete(id);
        if (!this.#socket.destroyed) this.#socket.write(last);
      });
    this.#requests.set(id, { controller, done });
  }

  async #take(
    { id, body: { most, memory = false, lists = false } }: Extract<Request, { type: 'take' }>,
    signal: AbortSignal,
  ): Promise<readonly Uint8Array[]> {
    signal.throwIfAborted();
    // Wait until the answer to the previous take is written.
    if (this.#socket.writableLength > 0) await this.#send([NOTHING]);
    const samples = await this.#host.reader.take(most, { signal });
    const answering = { id, memory: memory ? this.#memory : undefined, lists };
    try {
      for (const { frames, sent } of groupsOf(samples, answering)) {
        if (sent.length === 0) return frames;
        await this.#send(frames);
        for (const sample of sent) sample.release();
      }
      return [];
    } finally {
      for (const sample of samples) sample.release();
    }
  }

  async #read(
    { id, body }: Extract<Request, { type: 'read' }>,
    signal: AbortSignal,
  ): Promise<readonly Uint8Array[]> {
    for await (const piece of piecesOf(this.#host.reader, body, { signal }))
      await this.#send([encodeHead(SERVER_FRAMES.data, id, undefined, piece.byteLength), piece]);
    return [];
  }

  /**
   * Writes without copying. Once it resolves, the system has everything, and the memory may be reused.
   * @throws If the connection closes before that.
   */
  #send(parts: readonly Uint8Array[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const written = (error: Error | null | undefined) => (error ? reject(error) : resolve());
      this.#socket.cork();
      for (const [i, part] of parts.entries())
        this.#socket.write(part, i === parts.length - 1 ? written : undefined);
      this.#socket.uncork();
    });
  }
}

function notOffered(): TieredError {
  return new TieredError(
    'TIERED_UNSUPPORTED',
    'This server has no memory to share with the client, or shares it already; samples come through the socket.',
  );
}

function gone(): DOMException {
  return new DOMException('The client is gone.', 'AbortError');
}
