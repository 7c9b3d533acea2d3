import { systemClock } from '@tiered/core';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';

/** A link that is late by less than this catches up: timers take a millisecond at least. */
const CATCHES_UP_MS = 5;

/** A way to a server that is as fast as it is told, and counts what the server answers. */
export interface Link {
  readonly endpoint: string;
  /** Bytes that have passed from the server, with the heads of answers. */
  readonly bytes: () => number;
}

/**
 * Listens before a server on this machine. All of its connections share a number of bytes a second, in the
 * direction that answers take. Open until the process ends.
 */
export async function startLink(serverPort: number, bytesPerSecond: number): Promise<Link> {
  let passed = 0;
  let freeAt = 0;
  const pass = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      passed += chunk.byteLength;
      const now = systemClock.now();
      freeAt = Math.max(freeAt, now - CATCHES_UP_MS) + (chunk.byteLength * 1000) / bytesPerSecond;
      if (freeAt > now) await systemClock.sleep(freeAt - now);
      yield chunk;
    }
  };
  const listener = createServer({ noDelay: true }, (client) => {
    const server = connect({ port: serverPort, host: '127.0.0.1', noDelay: true });
    // A side that goes away ends the other one.
    pipeline(client, server).catch(() => client.destroy());
    pipeline(server, pass, client).catch(() => server.destroy());
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  return { endpoint: `http://127.0.0.1:${port}`, bytes: () => passed };
}
