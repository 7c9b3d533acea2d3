import { formatBytes, parseBytes, type ByteSize, type Tier } from '@tiered/core';
import { configError } from '@tiered/core/internal';

const MIB = 2 ** 20;

/** Within these sizes a chunk is a good request size for file systems and object stores alike. */
const SMALLEST = MIB;
const LARGEST = 16 * MIB;
const FIRST = 4 * MIB;
/** A shorter request spends much of its time on latency; a longer one makes its reader wait. */
const SHORT_MS = 20;
const LONG_MS = 200;
/**
 * Maximum number of chunks of an object, so that their sums fit into a row of the index. At 4 MiB they hold
 * 256 GiB.
 */
const MOST_CHUNKS = 65_536;
/** Requests between two decisions about the size. A single one may be an outlier. */
const WINDOW = 8;

/**
 * The bytes of one request for a chunk: fixed, or adapted to the source so that a request takes 20 to 200 ms.
 * At 150 MB/s the size stays at its first value, 4 MiB. At 2 GB/s it ends at 16 MiB, on a slow link at 1 MiB.
 * An object keeps the size that it began with.
 */
export class ChunkSize {
  readonly #adapts: boolean;
  readonly #memoryBytes: number;
  #bytes: number;
  #requests = 0;
  #ms = 0;

  /**
   * @param chunk Bytes, or undefined to adapt to the source.
   * @param memoryBytes Bytes that all chunks in flight may hold; no chunk is larger.
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
   * Refuses a tier that has no room for a chunk. Memory may have a quota of 0, and then holds nothing. On
   * shared storage, a quota of 0 would bind its other users too.
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

  /** Bytes of a chunk of an object that begins now, except for very large objects: see `ofObject`. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Bytes of a chunk for an object of this size. A small object is one chunk; a very large one gets larger
   * chunks, to limit their number. Undefined if a chunk exceeds the memory.
   */
  ofObject(size: number): number | undefined {
    const bytes = Math.max(1, Math.min(size, this.#bytes), Math.ceil(size / MOST_CHUNKS));
    return bytes <= this.#memoryBytes ? bytes : undefined;
  }

  /** The smallest size that a chunk may get. */
  get smallest(): number {
    return this.#adapts ? Math.min(SMALLEST, this.#bytes) : this.#bytes;
  }

  /** Records the duration of a request for this many bytes. Requests for less than a chunk are ignored. */
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
