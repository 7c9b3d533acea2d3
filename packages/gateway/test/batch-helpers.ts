import type { Gateway } from '@tiered/gateway';
import { list } from 'tar/list';
import { BUCKET, send, type RawAnswer, type RawRequest } from './helpers.js';

/** An item of a batch, as AIStore has it. */
export interface Item {
  readonly objname: string;
  readonly bucket?: string;
  readonly start?: number;
  readonly length?: number;
}

/** Where batches of the bucket go. */
export const BATCH = `/v1/ml/moss/${BUCKET}`;

/** The body of a request for a batch: a stream that goes on when an item is missing. */
export function bodyOf(items: readonly Item[], options: Readonly<Record<string, unknown>> = {}): Buffer {
  return Buffer.from(JSON.stringify({ in: items, coer: true, strm: true, ...options }));
}

/** Asks for a batch. */
export function batchOf(
  gateway: Gateway,
  items: readonly Item[],
  options: Readonly<Record<string, unknown>> = {},
  request: RawRequest = {},
): Promise<RawAnswer> {
  return send(gateway, BATCH, { body: bodyOf(items, options), ...request });
}

/** A request for a batch, as it goes over the connection. */
export function batchText(items: readonly Item[]): string {
  const body = bodyOf(items);
  return `GET ${BATCH} HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.byteLength}\r\n\r\n${body.toString()}`;
}

/** An entry of a tar. */
export interface Entry {
  readonly path: string;
  readonly bytes: Buffer;
}

/** The entries of a tar, as node-tar finds them. */
export async function entriesOf(tar: Uint8Array): Promise<Entry[]> {
  const entries: Entry[] = [];
  const parser = list({
    strict: true,
    onReadEntry: (entry) => {
      const pieces: Buffer[] = [];
      entry.on('data', (piece) => pieces.push(piece));
      entry.on('end', () => entries.push({ path: entry.path, bytes: Buffer.concat(pieces) }));
    },
  });
  await new Promise((resolve, reject) => {
    parser.on('error', reject);
    parser.on('end', resolve).end(Buffer.from(tar));
  });
  return entries;
}
