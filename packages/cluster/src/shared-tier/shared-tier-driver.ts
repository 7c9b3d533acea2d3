import { createHash } from 'node:crypto';
import {
  isTieredError,
  parseBytes,
  systemClock,
  TieredError,
  type ByteSize,
  type Clock,
  type StorageDriver,
} from '@tiered/core';
import {
  InterceptingDriver,
  type DriverCall,
  type OperationOptions,
  type ReadIntoOptions,
  type ReadOptions,
} from '@tiered/core/driver';
import { assertCounts, closeFor, identityOf, openFor, raceAbort, TierHealth } from '@tiered/core/internal';
import { inNewMemory } from '../in-new-memory.js';
import { SharedCopies } from './shared-copies.js';

/** Options of `SharedTierDriver`. */
export interface SharedTierOptions {
  /**
   * The storage of the copies: a `RedisDriver`, an `S3Driver` with `writable: true`, or any other driver that
   * all nodes can read and write. It bounds itself: a full server evicts. Opened and closed with this driver.
   */
  readonly tier: StorageDriver;
  /**
   * Bytes of a chunk. Objects are fetched in whole chunks. All nodes need the same value. Default: 1 MiB, so
   * that most samples are one chunk, and a partial read fetches little that was not asked for.
   */
  readonly chunk?: ByteSize | undefined;
  /** Bytes that may wait to be written. Beyond that, fetched chunks are not written. Default: 64 MiB. */
  readonly writeMemory?: ByteSize | undefined;
  /** Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
}

/** Counts of a `SharedTierDriver` since it was made. */
export interface SharedTierMetrics {
  /** Chunks that the tier had (hits) and did not have (misses). */
  readonly hits: number;
  readonly misses: number;
  readonly written: number;
  /** Chunks that were not written because too many waited or the tier failed. */
  readonly dropped: number;
  /** Operations of the tier that failed. The source was read instead. */
  readonly faults: number;
  /** False while the tier is skipped. */
  readonly isAsked: boolean;
}

/** A chunk of an object, in the requested version. */
interface Chunk {
  /** Its name on the tier. */
  readonly name: string;
  /** Its start in the object. */
  readonly offset: number;
}

/**
 * A source behind a storage that all nodes share, such as Redis. Bytes that one node has read from the
 * source, the others read from the shared storage. The driver wraps the source, below the tiers of a node,
 * which stay as they are.
 *
 * A copy belongs to one version of its object, and has a checksum. A read without a version goes to the
 * source. A tier that fails, has lost a copy or has wrong bytes fails no read. After three faults in a row it
 * is skipped, for a second at first and for up to a minute later. The readers of one node that miss a chunk
 * share one fetch of it; two nodes that miss it at the same moment both fetch it.
 *
 * Costs a request to the tier for each read, and a copy of the bytes.
 */
export class SharedTierDriver extends InterceptingDriver {
  readonly #tier: StorageDriver;
  readonly #chunk: number;
  readonly #writeMemory: number;
  readonly #health: TierHealth;
  readonly #writing = new Set<Promise<void>>();
  /** Chunks in flight from the source to the tier, by name. */
  readonly #fetching = new Map<string, Promise<Uint8Array>>();
  readonly #counts = { hits: 0, misses: 0, written: 0, dropped: 0, faults: 0 };
  #copies: Promise<SharedCopies> | undefined;
  #closing = new AbortController();
  #waitingBytes = 0;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for invalid options. */
  constructor(source: StorageDriver, options: SharedTierOptions) {
    super(source);
    const { tier, chunk = '1MiB', writeMemory = '64MiB', clock = systemClock } = options;
    this.#tier = tier;
    this.#chunk = parseBytes(chunk, 'chunk');
    this.#writeMemory = parseBytes(writeMemory, 'writeMemory');
    assertCounts({ chunk: this.#chunk });
    this.#health = new TierHealth(clock);
  }

  /** Returns a snapshot of the counts since the driver was made. */
  metrics(): SharedTierMetrics {
    return { ...this.#counts, isAsked: this.#health.inService };
  }

  /** Opens the source. The tier is opened when it is first needed, and may fail. */
  override async open(options: OperationOptions): Promise<void> {
    await super.open(options);
    this.#closing = new AbortController();
  }

  /** Ends fetches, and waits for writes of copies in flight. */
  override async close(): Promise<void> {
    this.#closing.abort(new TieredError('TIERED_CLOSED', `${this.name} is closed.`));
    // Includes fetches whose readers no longer wait. Their chunks still begin to be written.
    await Promise.allSettled(this.#fetching.values());
    await Promise.all(this.#writing);
    this.#copies = undefined;
    await closeFor(this, this.#tier);
    await super.close();
  }

  override read(key: string, options: ReadOptions): Promise<Uint8Array> {
    return inNewMemory(key, options.length, (target) => this.readInto(key, target, options));
  }

  override async readInto(key: string, target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    const { offset, version, signal } = options;
    signal?.throwIfAborted();
    if (version === undefined || target.byteLength === 0 || !this.#health.inService)
      return this.inner.readInto(key, target, options);
    const chunks = this.#chunksOf(key, version, offset, target.byteLength);
    const asked = chunks.filter(({ name }) => !this.#fetching.has(name)).map(({ name }) => name);
    const found = await this.#found(asked, signal);
    let filled = 0;
    for (const chunk of chunks) {
      const bytes = found.get(chunk.name) ?? (await this.#fetched(key, version, chunk, signal));
      const from = Math.max(0, offset - chunk.offset);
      const wanted = bytes.subarray(from, from + target.byteLength - filled);
      target.set(wanted, filled);
      filled += wanted.byteLength;
      // The object ends here.
      if (bytes.byteLength < this.#chunk) break;
    }
    return filled;
  }

  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    return call.proceed();
  }

  /**
   * The chunks that contain a range. A name is a digest of the source, the key and the version, with the
   * number of the chunk. So each version and each source has its own chunks, names are short, and nodes need
   * not agree on anything.
   */
  #chunksOf(key: string, version: string, offset: number, bytes: number): Chunk[] {
    const digest = createHash('sha256')
      .update(JSON.stringify([identityOf(this.inner), key, version]))
      .digest('hex');
    const first = Math.floor(offset / this.#chunk);
    const last = Math.floor((offset + bytes - 1) / this.#chunk);
    return Array.from({ length: last - first + 1 }, (_, at) => {
      const index = first + at;
      return { name: `shared/${digest}/${index}`, offset: index * this.#chunk };
    });
  }

  /** The chunks that the tier has, by name; none if it fails. */
  async #found(
    names: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<ReadonlyMap<string, Uint8Array>> {
    const found = new Map<string, Uint8Array>();
    if (names.length === 0) return found;
    try {
      const copies = await raceAbort(this.#opened(), signal);
      const all = await copies.read(names, this.#chunk, signal);
      for (const [at, name] of names.entries()) {
        const bytes = all[at];
        if (bytes !== undefined) found.set(name, bytes);
      }
      this.#health.succeeded();
      this.#counts.hits += found.size;
      this.#counts.misses += names.length - found.size;
    } catch (error) {
      if (signal?.aborted === true) throw error;
      this.#failed(error);
    }
    return found;
  }

  /** Fetches a chunk from the source, once for all its readers until the tier has it. */
  #fetched(key: string, version: string, chunk: Chunk, signal: AbortSignal | undefined): Promise<Uint8Array> {
    const fetching = this.#fetching.get(chunk.name) ?? this.#fetch(key, version, chunk);
    this.#fetching.set(chunk.name, fetching);
    // All its readers may have gone.
    fetching.catch(() => undefined);
    return raceAbort(fetching, signal);
  }

  async #fetch(key: string, version: string, { name, offset }: Chunk): Promise<Uint8Array> {
    const done = () => this.#fetching.delete(name);
    try {
      const options = { offset, length: this.#chunk, version };
      const bytes = await this.inner.read(key, { ...options, signal: this.#closing.signal });
      void this.#keep(name, bytes).then(done);
      return bytes;
    } catch (error) {
      done();
      throw error;
    }
  }

  /** Writes a chunk for the other nodes, in the background. */
  async #keep(name: string, bytes: Uint8Array): Promise<void> {
    if (bytes.byteLength === 0) return;
    if (this.#waitingBytes + bytes.byteLength > this.#writeMemory || !this.#health.inService) {
      this.#counts.dropped += 1;
      return;
    }
    this.#waitingBytes += bytes.byteLength;
    const writing = this.#write(name, bytes).finally(() => {
      this.#waitingBytes -= bytes.byteLength;
      this.#writing.delete(writing);
    });
    this.#writing.add(writing);
    await writing;
  }

  async #write(name: string, bytes: Uint8Array): Promise<void> {
    try {
      await (await this.#opened()).write(name, bytes);
      this.#counts.written += 1;
    } catch (error) {
      this.#counts.dropped += 1;
      // A full tier evicts, or refuses writes. It still answers.
      if (!isTieredError(error, 'TIERED_NO_SPACE')) this.#failed(error);
    }
  }

  /** Opens the tier, once; again after it failed. */
  #opened(): Promise<SharedCopies> {
    this.#copies ??= openFor(this, this.#tier, {})
      .then(() => SharedCopies.on(this.#tier))
      .catch((error: unknown) => {
        this.#copies = undefined;
        throw error;
      });
    return this.#copies;
  }

  #failed(error: unknown): void {
    // Drivers fail with TieredErrors. Anything else is a bug.
    if (!isTieredError(error)) throw error;
    this.#counts.faults += 1;
    this.#health.failed();
  }
}
