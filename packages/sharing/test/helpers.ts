import type { ErrorCode } from '@tiered/core';
import type { SampleReader } from '@tiered/prefetch';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { PrefetchClient } from '../src/client/client.js';
import { FrameDecoder } from '../src/wire/frame-decoder.js';
import {
  CLIENT_FRAMES,
  encodeHead,
  PROTOCOL,
  SERVER_FRAMES,
  VERSION,
  type Frame,
} from '../src/wire/protocol.js';
import { servePrefetcher, type PrefetchServer, type ServePrefetcherOptions } from '../src/server/server.js';
import { checked } from './list-reader.js';

/** For `rejects.toEqual(...)`: an error with this code. */
export function withCode(code: ErrorCode): Error {
  return expect.objectContaining({ code }) as Error;
}

/** A path for a socket, in a directory that is gone after the test. */
export function socketPath(): string {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-'));
  onTestFinished(() => fs.rmSync(directory, { recursive: true, force: true }));
  return path.join(directory, 'prefetcher');
}

/** A server, closed when the test ends; nothing of the reader may be held then. */
export async function serve(
  reader: SampleReader & { readonly held: number; readonly reading: number; readonly waiting: number },
  options: Partial<ServePrefetcherOptions> = {},
): Promise<PrefetchServer> {
  const server = await servePrefetcher(reader, { path: socketPath(), ...options });
  onTestFinished(async () => {
    await server.close();
    expect({ held: reader.held, reading: reader.reading, waiting: reader.waiting }).toEqual({
      held: 0,
      reading: 0,
      waiting: 0,
    });
    expect(fs.readdirSync(path.dirname(server.path))).toEqual([]);
  });
  return server;
}

/** A client, closed when the test ends. */
export async function connect({ path }: { readonly path: string }): Promise<PrefetchClient> {
  const client = await PrefetchClient.connect({ path });
  onTestFinished(() => client.close());
  return client;
}

/** Takes samples to the end of the sequence; which ones. */
export async function drain(reader: SampleReader): Promise<number[]> {
  const seen: number[] = [];
  for await (const sample of reader) seen.push(checked(sample));
  return seen;
}

export const range = (count: number) => Array.from({ length: count }, (_, i) => i);

/** A server in another language: `answer` is called with every frame of a client. */
export async function serving(
  answer: (frame: Frame<typeof CLIENT_FRAMES>, socket: net.Socket) => void,
): Promise<{ path: string }> {
  const path = socketPath();
  const listener = net.createServer((socket) => {
    const decoder = new FrameDecoder(CLIENT_FRAMES);
    socket.on('data', (chunk) => {
      for (const frame of decoder.push(chunk)) if (frame.type !== 'payload') answer(frame, socket);
    });
    socket.on('error', () => undefined);
  });
  listener.listen(path);
  await once(listener, 'listening');
  onTestFinished(() => void listener.close());
  return { path };
}

/** The first of what a server says. */
export const WELCOME = encodeHead(SERVER_FRAMES.hello, 0, {
  protocol: PROTOCOL,
  version: VERSION,
  maxRequests: 4,
  maxSamples: 4,
});

/** The first of what a client says. */
export const HELLO = encodeHead(CLIENT_FRAMES.hello, 0, { protocol: PROTOCOL, version: VERSION });

/** A client in another language: what it writes is up to the test. */
export class RawClient {
  readonly socket: net.Socket;
  /** Resolves when the server has closed it. */
  readonly closed: Promise<void>;

  constructor({ path }: { readonly path: string }, { allowHalfOpen = false } = {}) {
    this.socket = net.connect({ path, allowHalfOpen });
    // A server that closes while something is being written.
    this.socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => this.socket.once('close', () => resolve()));
    onTestFinished(() => void this.socket.destroy());
  }

  write(...parts: readonly Uint8Array[]): this {
    for (const part of parts) this.socket.write(part);
    return this;
  }

  /** What the server says, frame by frame, until it closes. */
  async *frames() {
    const decoder = new FrameDecoder(SERVER_FRAMES);
    for await (const chunk of this.socket) yield* decoder.push(chunk as Buffer);
  }

  /** Waits for a frame of a type; those before it are lost. */
  async next(type: string) {
    for await (const frame of this.frames()) if (frame.type === type) return frame;
    throw new Error(`the server closed before ${type}`);
  }
}
