import { TieredError, type StorageDriver } from '@tiered/core';
import { notFound, versionChanged, type Operation, type ReadOptions } from '@tiered/core/driver';
import { allEnded } from '@tiered/core/internal';
import pLimit from 'p-limit';
import { HEAD_BYTES, headOf, type Head } from './head.js';
import { readRange, removeIf } from './scripts.js';
import { dropChunks, readHead, type Store } from './store.js';

/** Further chunks of one read in flight: its deadlines are those of its commands. */
const CHUNKS_AT_ONCE = 8;

/** Tries to read an object that keeps being replaced. */
const MOST_TRIES = 10;

/** A head in its raw form, and the bytes read after it. */
interface Found {
  readonly head: Head;
  readonly raw: Buffer;
  readonly bytes: Buffer;
}

/** The target of a read. */
export interface ReadTarget extends Omit<ReadOptions, 'progress'> {
  readonly driver: StorageDriver;
  readonly operation: Operation;
  readonly key: string;
  /** Allocates the memory for the bytes, once their number is known. */
  readonly memory: (bytes: number) => Uint8Array;
}

/**
 * Describes an object. Costs one command.
 * @throws TieredError `TIERED_NOT_FOUND`, `TIERED_DATA_CORRUPT` for a key of another program.
 */
export async function findHead(
  store: Store,
  target: Pick<ReadTarget, 'driver' | 'operation' | 'key' | 'signal'>,
) {
  const value = await readHead(store, target.key, target.signal);
  return found(value, Buffer.alloc(0), target).head;
}

/**
 * Reads a range, and resolves to the number of bytes. Costs one command for the first chunk, and one more for
 * each further chunk in the range. If a chunk is missing because the server evicted it, the object is
 * missing: its head is removed, if the driver may write. If the object was replaced meanwhile, it is read
 * again.
 * @throws Like `findHead`; `TIERED_SOURCE_CHANGED` for another version; `TIERED_UNAVAILABLE` if the object
 * keeps being replaced.
 */
export async function readObject(store: Store, target: ReadTarget): Promise<number> {
  const { driver, operation, key, offset, length, version } = target;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const first = await readFirst(store, target);
    const { head, bytes } = first;
    if (version !== undefined && head.id !== version) throw versionChanged(driver, operation, key);
    const count = Math.max(0, Math.min(length, head.size - offset));
    const memory = target.memory(count);
    memory.set(bytes.subarray(0, count));
    if (bytes.byteLength >= count) return count;
    if (await readFurther(store, head, target, memory.subarray(0, count), bytes.byteLength)) return count;
    await assertReplaced(store, first, target);
  }
  throw new TieredError(
    'TIERED_UNAVAILABLE',
    `${driver.name}: ${JSON.stringify(key)} is replaced faster than it can be read; read it later.`,
    { driver: driver.name, operation, key, retryable: true },
  );
}

/**
 * Reads the head, and the bytes of the range in the first chunk. Both are of one write, because it is one
 * command.
 */
async function readFirst(store: Store, target: ReadTarget): Promise<Found> {
  const { offset, length, signal } = target;
  const key = store.keys.ofHead(target.key);
  // The part of the range in the first chunk, if the chunk has our size.
  const most = Math.max(0, Math.min(length, store.chunk - offset));
  const options = { bytes: HEAD_BYTES + most, signal };
  if (offset === 0) {
    const args = ['GETRANGE', key, '0', `${HEAD_BYTES + most - 1}`];
    const value = (await store.server.send(key, args, options)) as Buffer;
    return found(value.subarray(0, HEAD_BYTES), value.subarray(HEAD_BYTES), target);
  }
  const reply = await store.server.send(key, readRange(key, offset, most), options);
  const [raw, bytes] = reply as readonly [Buffer, Buffer];
  return found(raw, bytes, target);
}

function found(raw: Buffer, bytes: Buffer, target: Pick<ReadTarget, 'driver' | 'operation' | 'key'>): Found {
  const { driver, operation, key } = target;
  if (raw.byteLength === 0) throw notFound(driver, operation, key);
  const head = headOf(raw);
  if (head !== undefined) return { head, raw, bytes };
  throw new TieredError(
    'TIERED_DATA_CORRUPT',
    `${driver.name}: the key of ${JSON.stringify(key)} holds something that tiered did not write; use a prefix of its own.`,
    { driver: driver.name, operation, key },
  );
}

/** Reads the rest after the first bytes. False if a chunk is missing. */
async function readFurther(
  store: Store,
  { id, chunk }: Head,
  { key, offset, signal }: ReadTarget,
  memory: Uint8Array,
  from: number,
): Promise<boolean> {
  const { server, keys } = store;
  let isWhole = true;
  const readOfChunk = async (index: number, start: number, length: number): Promise<Buffer> => {
    const options = { bytes: length, signal };
    const name = index === 0 ? keys.ofHead(key) : keys.ofChunk(id, index);
    const from = start - index * chunk;
    if (index > 0)
      return (await server.send(
        name,
        ['GETRANGE', name, `${from}`, `${from + length - 1}`],
        options,
      )) as Buffer;
    // The writer's first chunk is larger than ours, and may by now be of another write.
    const reply = await server.send(name, readRange(name, from, length), options);
    const [raw, bytes] = reply as readonly [Buffer, Buffer];
    return headOf(raw)?.id === id ? bytes : Buffer.alloc(0);
  };
  const readPart = async (at: number, end: number) => {
    if (!isWhole) return;
    const bytes = await readOfChunk(Math.floor((offset + at) / chunk), offset + at, end - at);
    if (bytes.byteLength === end - at) memory.set(bytes, at);
    else isWhole = false;
  };
  const limit = pLimit(CHUNKS_AT_ONCE);
  const parts: Promise<void>[] = [];
  for (let at = from; at < memory.byteLength;) {
    const inChunk = chunk - ((offset + at) % chunk);
    const [begin, end] = [at, Math.min(memory.byteLength, at + inChunk)];
    parts.push(limit(() => readPart(begin, end)));
    at = end;
  }
  await allEnded(parts);
  return isWhole;
}

/**
 * Finds out why a chunk is missing.
 * @throws TieredError `TIERED_NOT_FOUND` unless the object was replaced.
 */
async function assertReplaced(store: Store, { head, raw }: Found, target: ReadTarget): Promise<void> {
  const { key, signal } = target;
  const name = store.keys.ofHead(key);
  const now = store.isWritable
    ? ((await store.server.send(name, removeIf(name, raw), { bytes: HEAD_BYTES, signal })) as Buffer)
    : await readHead(store, key, signal);
  if (now.byteLength > 0 && !now.equals(raw)) return;
  if (store.isWritable) await dropChunks(store, head);
  throw notFound(target.driver, target.operation, key);
}
