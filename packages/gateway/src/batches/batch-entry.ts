import type { HierarchyStorage } from '../hierarchy/hierarchy-storage.js';
import type { HierarchyObject } from '../hierarchy/parts.js';
import { invalidRange, lengthOf, type Range } from '../protocol/ranges.js';
import { noSuchKey } from '../protocol/s3-error.js';
import type { OpenObject, StatOptions } from '../reads/read-storage.js';
import type { BatchItem } from './batch-request.js';

/** The facts about an entry once its object has been found. */
export interface FoundEntry {
  readonly object: HierarchyObject;
  readonly range: Range;
  /** Bytes. */
  readonly length: number;
}

/** An item of a batch in flight. It is looked up at once, and read when there is memory for it. */
export class BatchEntry {
  readonly item: BatchItem;
  /** Rejects with an `S3Error` if there is no such object, or range of it. */
  readonly found: Promise<FoundEntry>;
  readonly #storage: HierarchyStorage;
  readonly #options: StatOptions;
  #entry: FoundEntry | undefined;
  #body: OpenObject | undefined;
  #pieces: AsyncIterator<Uint8Array> | undefined;
  #first: Promise<IteratorResult<Uint8Array>> | undefined;
  #isHere = false;

  constructor(item: BatchItem, storage: HierarchyStorage, options: StatOptions) {
    this.item = item;
    this.#storage = storage;
    this.#options = options;
    this.found = this.#find();
    // It is awaited when its turn comes.
    this.found.catch(() => undefined);
  }

  /** Bytes to read. Undefined until the length is known. */
  get length(): number | undefined {
    return this.#entry?.length;
  }

  /** Whether its bytes are being read. */
  get isBegun(): boolean {
    return this.#pieces !== undefined;
  }

  /** Whether its first bytes have arrived, or are known never to arrive. */
  get isHere(): boolean {
    return this.#isHere || this.#entry?.length === 0;
  }

  /** The slowest level that any of its bytes came from. */
  get from(): string | undefined {
    return this.#body?.from;
  }

  /** Starts reading before its turn. Returns whether there was memory for all of it. */
  beginAhead(): boolean {
    if (this.#entry === undefined) return false;
    const { object, range } = this.#entry;
    const body = this.#storage.openAhead(object, { ...this.#options, range });
    if (body !== undefined) this.#begin(body);
    return body !== undefined;
  }

  /** Returns the next bytes. Starts reading them unless that has happened already. */
  async next(): Promise<Uint8Array | undefined> {
    const { object, range, length } = await this.found;
    if (length === 0) return undefined;
    const pieces = this.#pieces ?? this.#begin(this.#storage.open(object, { ...this.#options, range }));
    const first = this.#first;
    this.#first = undefined;
    const piece = await (first ?? pieces.next());
    return piece.done === true ? undefined : piece.value;
  }

  /** Stops reading and frees the memory. Reads in flight must have been aborted. */
  async close(): Promise<void> {
    await this.found.catch(() => undefined);
    await this.#first?.catch(() => undefined);
    await this.#pieces?.return?.();
  }

  async #find(): Promise<FoundEntry> {
    const { key, start, length } = this.item;
    const object = await this.#storage.stat(key, this.#options);
    if (object === undefined) throw noSuchKey(key);
    const { size } = object;
    const isAll = length === -1 || (start === 0 && length === 0);
    const end = isAll ? size : start + length;
    if (end > size || (start > 0 && start >= size)) throw invalidRange(`${start} ${length}`, size);
    const range = { start, end: end - 1 };
    return (this.#entry = { object, range, length: lengthOf(range) });
  }

  #begin(body: OpenObject): AsyncIterator<Uint8Array> {
    this.#body = body;
    const pieces = body[Symbol.asyncIterator]();
    this.#pieces = pieces;
    this.#first = pieces.next();
    const come = () => void (this.#isHere = true);
    this.#first.then(come, come);
    return pieces;
  }
}
