import { parseBytes, type ByteSize } from '@tiered/core';
import { configError } from '@tiered/core/internal';

const MIB = 2 ** 20;

/** Between these a chunk is a good request to a file system and to an object store alike. */
const SMALLEST = MIB;
const LARGEST = 16 * MIB;
const FIRST = 4 * MIB;
/** A request that is shorter spends much of its time on latency; one that is longer makes its reader wait. */
const SHORT_MS = 20;
const LONG_MS = 200;
/** Chunks of an object at most: their sums fit a row of the index. At 4 MiB that is 256 GiB. */
const MOST_CHUNKS = 65_536;
/** Requests after which the size is looked at again: one may be an accident. */
const WINDOW = 8;

/**
 * How many bytes a request for a chunk asks for: a fixed number, or one that follows the source so that a request
 * takes 20 to 200 ms. A source of 150 MB/s stays at the first size, 4 MiB; one of 2 GB/s ends at 16 MiB, a slow link
 * at 1 MiB. An object keeps the size it began with.
 */
export class ChunkSize {
  readonly #adapts: boolean;
  readonly #memoryBytes: number;
  #bytes: number;
  #requests = 0;
  #ms = 0;

  /**
   * @param chunk Bytes, or undefined to follow the source.
   * @param memoryBytes What all chunks on their way may hold: none is larger than that.
   * @throws TieredError `TIERED_CONFIG_INVALID` for less than one byte, or more than the memory.
   */
  constructor(chunk: ByteSize | undefined, memoryBytes: number) {
    this.#adapts = chunk === undefined;
    this.#memoryBytes = memoryBytes;
    this.#bytes = chunk === undefined ? Math.min(FIRST, memoryBytes) : parseBytes(chunk, 'chunk');
    if (this.#bytes === 0) throw configError('chunk', 'at least one byte', chunk);
    if (this.#bytes > memoryBytes)
      throw configError('chunk', `at most the memory, ${memoryBytes} bytes`, this.#bytes);
  }

  /** Bytes of a chunk of an object that is begun now, apart from what `ofObject` says of very large ones. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Bytes of a chunk of an object of this size: all of a small one, and of a very large one so many that its chunks can
   * be counted. Undefined if that is more than the memory.
   */
  ofObject(size: number): number | undefined {
    const bytes = Math.max(1, Math.min(size, this.#bytes), Math.ceil(size / MOST_CHUNKS));
    return bytes <= this.#memoryBytes ? bytes : undefined;
  }

  /** The smallest that it may become. */
  get smallest(): number {
    return this.#adapts ? Math.min(SMALLEST, this.#bytes) : this.#bytes;
  }

  /** A request for so many bytes took so long. Requests for less than a chunk say nothing. */
  observe(bytes: number, ms: number): void {
    if (!this.#adapts || bytes < this.#bytes) return;
    this.#requests += 1;
    this.#ms += ms;
    if (this.#requests < WINDOW) return;
    const mean = this.#ms / this.#requests;
    if (mean < SHORT_MS) this.#bytes = Math.min(LARGEST, this.#memoryBytes, this.#bytes * 2);
    if (mean > LONG_MS) this.#bytes = Math.max(SMALLEST, this.#bytes / 2);
    this.#requests = 0;
    this.#ms = 0;
  }
}
