import { TieredError, type StorageDriver } from '@tiered/core';
import { Failure, isRefusal } from '../connection/failures.js';
import { furtherChunks, HEAD_BYTES, headOf, MOST_CHUNKS, newId, writeHead, type Head } from './head.js';
import { remove, replace } from './scripts.js';
import { dropChunks, type Store } from './store.js';

/** Chunks of one write in flight, besides the one being filled. */
const CHUNKS_AT_ONCE = 4;

/** The target of a write. */
export interface WriteTarget {
  readonly driver: StorageDriver;
  readonly key: string;
  readonly size: number;
  readonly ifAbsent: boolean;
  readonly signal: AbortSignal | undefined;
}

/**
 * Creates or replaces an object. The head is written last, with the first chunk: until then there is no
 * object. Up to one chunk, this is one command. Takes the memory of at most 6 chunks.
 * @throws TieredError `TIERED_EXISTS`, `TIERED_TOO_LARGE` for more than a million chunks. A failure of the
 * pieces is thrown unchanged. After any error no chunk is left, unless it is unknown whether the head was
 * written.
 */
export async function writeObject(
  store: Store,
  pieces: AsyncIterable<Uint8Array>,
  target: WriteTarget,
): Promise<void> {
  const head = { id: newId(), size: target.size, chunk: store.chunk };
  if (furtherChunks(head) >= MOST_CHUNKS) throw tooLarge(target);
  const value = Buffer.allocUnsafeSlow(HEAD_BYTES + Math.min(head.size, head.chunk));
  writeHead(head, value);
  const chunks = new ChunkWriter(store, head, target.signal);
  try {
    await fill(pieces, value.subarray(HEAD_BYTES), chunks);
    await publish(store, value, target);
  } catch (error) {
    await chunks.ended();
    if (!(error instanceof Failure) || isRefusal(error) || !chunks.isWhole)
      await dropChunks(store, head, chunks.count);
    throw error;
  }
}

function tooLarge({ driver, key, size }: WriteTarget): TieredError {
  return new TieredError(
    'TIERED_TOO_LARGE',
    `${driver.name}: ${JSON.stringify(key)} has ${size} bytes, which are more than ${MOST_CHUNKS} chunks; choose a larger chunk.`,
    { driver: driver.name, operation: 'write', key },
  );
}

/** Distributes the pieces over the first chunk and the further ones, whose memory is not reused. */
async function fill(pieces: AsyncIterable<Uint8Array>, first: Buffer, chunks: ChunkWriter): Promise<void> {
  let memory = first;
  let filled = 0;
  for await (const piece of pieces) {
    for (let taken = 0; taken < piece.byteLength;) {
      if (filled === memory.byteLength) {
        if (memory !== first) await chunks.write(memory);
        memory = chunks.next();
        filled = 0;
      }
      const part = piece.subarray(taken, taken + memory.byteLength - filled);
      memory.set(part, filled);
      filled += part.byteLength;
      taken += part.byteLength;
    }
  }
  if (memory !== first) await chunks.write(memory);
  await chunks.end();
}

/** Writes the further chunks of an object, several at a time. */
class ChunkWriter {
  readonly #store: Store;
  readonly #head: Head;
  readonly #signal: AbortSignal | undefined;
  readonly #underWay = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | undefined;
  #count = 0;
  #isWhole = false;

  constructor(store: Store, head: Head, signal: AbortSignal | undefined) {
    this.#store = store;
    this.#head = head;
    this.#signal = signal;
  }

  /** Chunks whose write has begun. */
  get count(): number {
    return this.#count;
  }

  /** Whether all chunks were written. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Memory for the next chunk. */
  next(): Buffer {
    const { size, chunk } = this.#head;
    return Buffer.allocUnsafeSlow(Math.min(chunk, size - chunk * (this.#count + 1)));
  }

  /** Begins to write a chunk. Waits while too many are in flight. */
  async write(bytes: Buffer): Promise<void> {
    this.#count += 1;
    const { server, keys, ttlMs } = this.#store;
    const key = keys.ofChunk(this.#head.id, this.#count);
    const options = { bytes: bytes.byteLength, signal: this.#signal };
    const written = server.send(key, ['SET', key, bytes, 'PX', `${ttlMs}`], options).then(
      () => void this.#underWay.delete(written),
      (error: unknown) => {
        this.#underWay.delete(written);
        this.#failure ??= { error };
      },
    );
    this.#underWay.add(written);
    if (this.#underWay.size >= CHUNKS_AT_ONCE) await Promise.race(this.#underWay);
    this.#assertGood();
  }

  /** Waits for all chunks. */
  async end(): Promise<void> {
    await this.ended();
    this.#assertGood();
    this.#isWhole = true;
  }

  /** Waits until no write is in flight. Never fails. */
  async ended(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  #assertGood(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}

/** Writes the head. Once it is sent, an abort waits for the answer. */
async function publish(store: Store, value: Buffer, target: WriteTarget): Promise<void> {
  const { server, keys, ttlMs } = store;
  const { driver, signal } = target;
  const key = keys.ofHead(target.key);
  const options = { bytes: value.byteLength, signal, isAwaited: true };
  if (target.ifAbsent) {
    const reply = await server.send(key, ['SET', key, value, 'PX', `${ttlMs}`, 'NX'], options);
    if (reply !== null) return;
    throw new TieredError(
      'TIERED_EXISTS',
      `${driver.name} has an object ${JSON.stringify(target.key)} already; nothing was written.`,
      { driver: driver.name, operation: 'write', key: target.key },
    );
  }
  await dropOld(store, await server.send(key, replace(key, value, ttlMs), options));
}

/** Removes an object; a missing one is no error. Costs a command, and one for each further chunk. */
export async function deleteObject(
  store: Store,
  key: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const name = store.keys.ofHead(key);
  await dropOld(
    store,
    await store.server.send(name, remove(name), { bytes: HEAD_BYTES, signal, isAwaited: true }),
  );
}

/** Removes the chunks of a head that is gone. */
async function dropOld(store: Store, reply: unknown): Promise<void> {
  const old = headOf(reply as Buffer);
  if (old !== undefined) await dropChunks(store, old);
}
