import { loadChecksum, onAbort, type Checksum } from '@tiered/core/internal';
import { ObjectChanged } from '../hierarchy/errors.js';
import type { HierarchyStorage } from '../hierarchy/hierarchy-storage.js';
import { slowerOf } from '../hierarchy/levels.js';
import { modifiedOf } from '../protocol/found-object.js';
import { noSuchBucket, S3Error } from '../protocol/s3-error.js';
import type { OpenObject, StatOptions } from '../reads/read-storage.js';
import { BatchEntry } from './batch-entry.js';
import type { BatchItem, BatchRequest } from './batch-request.js';
import { PackedEntries } from './packed-entries.js';
import { END_OF_TAR, headerOf, paddingOf } from './tar.js';

/** Items that are looked up and read while an earlier one is sent. */
const AHEAD_ITEMS = 64;
/** Their bytes: as many as one large object has in flight. */
const AHEAD_BYTES = 16 * 1024 * 1024;
/** Larger items are read piece by piece when their turn comes. */
const SMALL = 1024 * 1024;

/** Bytes of an entry besides those of its item, unless its name is long. Also covers the end of the tar. */
const BESIDE = 4096;

/** Prefix of the names of missing items, as in AIStore. */
const MISSING = '__404__';

/** Errors of a single item: no such object, no such range, or the object is on no tier. */
const OF_ITEM: readonly number[] = [404, 416, 504];

/**
 * The answer to a batch: a tar with an entry for each item, in order. Later items are read while earlier ones
 * are sent, as far as there is memory. A header is sent once the first bytes behind it are there, so an
 * object that turns out to be gone also becomes a missing item. Small items that are ready are sent together.
 * None waits for one that is not.
 */
export class BatchReading implements OpenObject {
  readonly #storages: ReadonlyMap<string, HierarchyStorage>;
  readonly #request: BatchRequest;
  readonly #options: StatOptions;
  readonly #ahead: BatchEntry[] = [];
  readonly #packed: PackedEntries;
  #from: string | undefined;
  #checksum: Checksum | undefined;

  /**
   * @param storages Buckets by name.
   * @throws S3Error `NoSuchBucket` if an item names another bucket.
   */
  constructor(storages: ReadonlyMap<string, HierarchyStorage>, request: BatchRequest, options: StatOptions) {
    this.#storages = storages;
    this.#request = request;
    this.#options = options;
    this.#packed = new PackedEntries(mostBytesOf(request.items));
    for (const { bucket } of request.items) if (!storages.has(bucket)) throw noSuchBucket(bucket);
  }

  get from(): string | undefined {
    return this.#from;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    const { signal } = this.#options;
    const ended = new AbortController();
    const stopListening = onAbort(signal, (reason) => ended.abort(reason));
    const items = this.#request.items.values();
    if (this.#request.withSums) this.#checksum = await loadChecksum();
    try {
      for (;;) {
        this.#lookAhead(items, ended.signal);
        const [entry] = this.#ahead;
        if (entry === undefined) break;
        if (this.#packed.bytes > 0 && !entry.isHere) yield this.#packed.take();
        yield* this.#send(entry);
        await entry.close();
        this.#ahead.shift();
      }
      yield* this.#pack([END_OF_TAR]);
      yield this.#packed.take();
    } finally {
      ended.abort(new Error('Nobody takes the bytes any more.'));
      stopListening();
      await Promise.all(this.#ahead.map((entry) => entry.close()));
    }
  }

  #lookAhead(items: Iterator<BatchItem, undefined>, signal: AbortSignal): void {
    while (this.#ahead.length < AHEAD_ITEMS) {
      const { value: item } = items.next();
      if (item === undefined) break;
      const storage = this.#storages.get(item.bucket);
      if (storage === undefined) throw noSuchBucket(item.bucket);
      const entry = new BatchEntry(item, storage, { ...this.#options, signal });
      this.#ahead.push(entry);
      entry.found.then(
        () => this.#readAhead(signal),
        () => undefined,
      );
    }
    this.#readAhead(signal);
  }

  /** Starts reading what has been found, in order, as far as there is memory. */
  #readAhead(signal: AbortSignal): void {
    let room = AHEAD_BYTES;
    for (const entry of this.#ahead) {
      const { length = 0 } = entry;
      if (length === 0 || length > SMALL) continue;
      room -= length;
      if (room < 0 || signal.aborted) return;
      if (!entry.isBegun && !entry.beginAhead()) return;
    }
  }

  async *#send(entry: BatchEntry): AsyncGenerator<Uint8Array, void, undefined> {
    const { name } = entry.item;
    const { keepsOn, withEtags } = this.#request;
    let first: Uint8Array | undefined;
    try {
      first = await this.#firstOf(entry);
    } catch (error) {
      if (!keepsOn || !this.#isOfItem(error)) throw error;
      const comment = withEtags ? statusOf(error) : undefined;
      yield* this.#pack([headerOf({ path: `${MISSING}/${name}`, size: 0, mtime: modifiedOf({}), comment })]);
      return;
    }
    const { object, length } = await entry.found;
    const header = headerOf({
      path: name,
      size: length,
      mtime: modifiedOf(object),
      comment: withEtags ? this.#commentOn(object.etag, first, length) : undefined,
    });
    this.#from = slowerOf(this.#from, entry.from);
    if (first === undefined) yield* this.#pack([header]);
    else if (first.byteLength === length) yield* this.#pack([header, first, paddingOf(length)]);
    else yield* this.#sendLarge(entry, [header, first], paddingOf(length));
  }

  /** Packs an entry whole if it is small, and sends it otherwise. Entries packed before it are sent first. */
  *#pack(parts: readonly Uint8Array[]): Generator<Uint8Array, void, undefined> {
    const bytes = parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
    if (this.#packed.bytes > 0 && !this.#packed.hasRoomFor(bytes)) yield this.#packed.take();
    if (!this.#packed.hasRoomFor(bytes)) yield* parts;
    else for (const part of parts) this.#packed.add(part);
  }

  /** The first bytes of an entry, or all of them if the entry gets a checksum. */
  async #firstOf(entry: BatchEntry): Promise<Uint8Array | undefined> {
    const first = await entry.next();
    const { length } = await entry.found;
    if (first === undefined || this.#checksum === undefined || length > SMALL) return first;
    return gathered(entry, first, length);
  }

  /**
   * Whether an error concerns one item alone. If the client asks for checksums, every failure of a storage
   * does: such a client trusts an entry no further than its status, and would otherwise lose all other
   * entries.
   */
  #isOfItem(error: unknown): error is S3Error {
    return error instanceof S3Error && (this.#request.withSums || OF_ITEM.includes(error.status));
  }

  /** The ETag, followed by the checksum if all bytes are there. */
  #commentOn(etag: string, bytes: Uint8Array | undefined, length: number): string {
    if (this.#checksum === undefined || bytes?.byteLength !== length) return etag;
    return `${etag} ${this.#checksum.bytes(bytes).toString(16)}`;
  }

  async *#sendLarge(
    entry: BatchEntry,
    begin: readonly Uint8Array[],
    padding: Uint8Array,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    if (this.#packed.bytes > 0) yield this.#packed.take();
    yield* begin;
    for (let piece = await entry.next(); piece !== undefined; piece = await entry.next()) {
      this.#from = slowerOf(this.#from, entry.from);
      yield piece;
    }
    if (padding.byteLength > 0) yield padding;
  }
}

/** Bytes of an answer to these items, if all lengths are known. */
function mostBytesOf(items: readonly BatchItem[]): number {
  return items.reduce((sum, { length }) => sum + (length > 0 ? length + BESIDE : Infinity), 0);
}

/**
 * Status of a missing entry. A client that compares ETags learns that its own is outdated, or soon will be.
 */
function statusOf(error: S3Error): string {
  return String(error instanceof ObjectChanged ? 412 : error.status);
}

/** All bytes of a small entry, mostly its first piece. A piece is valid until the next one. */
async function gathered(entry: BatchEntry, first: Uint8Array, length: number): Promise<Uint8Array> {
  if (first.byteLength === length) return first;
  const bytes = new Uint8Array(length);
  bytes.set(first);
  let filled = first.byteLength;
  for (let piece = await entry.next(); piece !== undefined; piece = await entry.next()) {
    bytes.set(piece, filled);
    filled += piece.byteLength;
  }
  return bytes;
}
