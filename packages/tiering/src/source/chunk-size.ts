import { formatBytes, parseBytes, type ByteSize, type Tier } from '@tiered/core';
import { configError } from '@tiered/core/internal';

const MIB = 2 ** 20;

/** Between these sizes a chunk is a good request for file systems and object stores alike. */
const SMALLEST = MIB;
const LARGEST = 16 * MIB;
const FIRST = 4 * MIB;
/** A shorter request spends much of its time on latency; a longer one makes its reader wait. */
const SHORT_MS = 20;
const LONG_MS = 200;
/** Most chunks of an object, so that their sums fit a row of the index. At 4 MiB that is 256 GiB. */
const MOST_CHUNKS = 65_536;
/** Requests between two decisions about the size: one alone may be an accident. */
const WINDOW = 8;

/**
 * The bytes of one request for a chunk: a fixed number, or one that follows the source so that a request
 * takes 20 to 200 ms. With a source of 150 MB/s it stays at the first size, 4 MiB; one of 2 GB/s ends at 16
 * MiB, a slow link at 1 MiB. An object keeps the size that it began with.
 */
export class ChunkSize {
  readonly #adapts: boolean;
  readonly #memoryBytes: number;
  #bytes: number;
  #requests = 0;
  #ms = 0;

  /**
   * @param chunk Bytes, or undefined to follow the source.
   * @param memoryBytes Bytes that all chunks on their way may hold; no chunk is larger.
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

  /**
   * Refuses a tier that has no room for a chunk. Memory may have a quota of 0, and then takes nothing. Other
   * users of the storage would have to hold as little.
   * @throws TieredError `TIERED_CONFIG_INVALID`
   */
  assertFits({ level, driver, quotaBytes }: Tier): void {
    const least = this.smallest;
    if (quotaBytes >= least || (quotaBytes === 0 && driver.location === undefined)) return;
    throw configError(
      `tiers[${level}].quota`,
      `at least one chunk (placement.chunk), which is ${least} bytes (${formatBytes(least)})`,
      quotaBytes,
    );
  }

  /** Bytes of a chunk of an object that begins now, except for very large ones: see `ofObject`. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Bytes of a chunk of an object of this size. A small object is one chunk; the chunks of a very large one
   * are large enough that there are not too many. Undefined if a chunk exceeds the memory.
   */
  ofObject(size: number): number | undefined {
    const bytes = Math.max(1, Math.min(size, this.#bytes), Math.ceil(size / MOST_CHUNKS));
    return bytes <= this.#memoryBytes ? bytes : undefined;
  }

  /** The smallest size that a chunk may get. */
  get smallest(): number {
    return this.#adapts ? Math.min(SMALLEST, this.#bytes) : this.#bytes;
  }

  /** Records how long a request for this many bytes took. Requests for less than a chunk say nothing. */
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
