import type { Server } from '../connection/server.js';
import { furtherChunks, HEAD_BYTES, type Head, type Keys } from './head.js';

/** The parts that operations on objects share. */
export interface Store {
  readonly server: Server;
  readonly keys: Keys;
  /** Bytes of a chunk, for writes. */
  readonly chunk: number;
  readonly ttlMs: number;
  readonly isWritable: boolean;
}

/** Reads the bytes at the place of an object's head; empty if there are none. Costs one command. */
export async function readHead(
  { server, keys }: Store,
  key: string,
  signal: AbortSignal | undefined,
): Promise<Buffer> {
  const name = keys.ofHead(key);
  const args = ['GETRANGE', name, '0', `${HEAD_BYTES - 1}`];
  return (await server.send(name, args, { bytes: HEAD_BYTES, signal })) as Buffer;
}

/** Commands that remove chunks at the same time. */
const REMOVED_AT_ONCE = 1000;

/**
 * Removes the further chunks of an object whose head is gone. Never fails: remaining chunks expire. Costs a
 * command for each, which are sent together.
 * @param count The number of chunks that may exist. Default: all.
 */
export async function dropChunks(
  { server, keys }: Store,
  head: Head,
  count = furtherChunks(head),
): Promise<void> {
  const drop = async (index: number) => {
    const key = keys.ofChunk(head.id, index);
    await server.send(key, ['UNLINK', key], { bytes: 0, signal: undefined });
  };
  for (let first = 1; first <= count; first += REMOVED_AT_ONCE) {
    const some = Math.min(REMOVED_AT_ONCE, count - first + 1);
    const ended = await Promise.allSettled(Array.from({ length: some }, (_, at) => drop(first + at)));
    // The server is gone. More commands would only cost time.
    if (ended.every(({ status }) => status === 'rejected')) return;
  }
}
