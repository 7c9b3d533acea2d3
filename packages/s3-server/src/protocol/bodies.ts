import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { ReceivedBody, sizeOf } from '@tiered/gateway/internal';
import type { S3RequestWithBody } from './requests.js';

/**
 * Reads the body of a request into one piece of memory, as it was sent.
 * @throws S3Error `MissingContentLength`; the error of the connection if the client goes away.
 */
export async function readBody(message: IncomingMessage): Promise<Uint8Array> {
  return sizeOf(message.headers) === 0 ? new Uint8Array() : buffer(message);
}

/**
 * Decodes the body from its chunks, and compares it with every hash that came with it.
 * @throws S3Error `BadDigest`, and others like it.
 */
export async function checkBody(
  raw: Uint8Array,
  headers: IncomingHttpHeaders,
): Promise<Pick<S3RequestWithBody, 'body' | 'checksums'>> {
  const received = new ReceivedBody(inOnePiece(raw), headers);
  const pieces: Uint8Array[] = [];
  for await (const piece of received) pieces.push(piece);
  const [body = new Uint8Array()] = pieces.length > 1 ? [Buffer.concat(pieces)] : pieces;
  return { body, checksums: received.checksums };
}

async function* inOnePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  if (bytes.byteLength > 0) yield await Promise.resolve(bytes);
}
