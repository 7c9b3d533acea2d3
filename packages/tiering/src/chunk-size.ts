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
/** Requests after which the size is looked at again: one may be an accident. */
const WINDOW = 8;

/**
 * How many bytes a request for a chunk asks for: a fixed number, or one that follows the source so that a request
 * takes 20 to 200 ms. A source of 150 MB/s stays at the first size, 4 MiB; one of 2 GB/s ends at 16 MiB, a slow link
 * at 1 MiB. An object keeps the size it began with.
 */
export class ChunkSize {
  readonly #adapts: boolean;
  #bytes: number;
  #requests = 0;
  #ms = 0;

  /**
   * @param chunk Bytes, or undefined to follow the source.
   * @throws TieredError `TIERED_CONFIG_INVALID` for less than one byte.
   */
  constructor(chunk: ByteSize | undefined) {
    this.#adapts = chunk === undefined;
    this.#bytes = chunk === undefined ? FIRST : parseBytes(chunk, 'chunk');
    if (this.#bytes === 0) throw configError('chunk', 'at least one byte', chunk);
  }

  /** Bytes of a chunk of an object that is begun now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The smallest that it may become. */
  get smallest(): number {
    return this.#adapts ? SMALLEST : this.#bytes;
  }

  /** A request for so many bytes took so long. Requests for less than a chunk say nothing. */
  observe(bytes: number, ms: number): void {
    if (!this.#adapts || bytes < this.#bytes) return;
    this.#requests += 1;
    this.#ms += ms;
    if (this.#requests < WINDOW) return;
    const mean = this.#ms / this.#requests;
    if (mean < SHORT_MS) this.#bytes = Math.min(LARGEST, this.#bytes * 2);
    if (mean > LONG_MS) this.#bytes = Math.max(SMALLEST, this.#bytes / 2);
    this.#requests = 0;
    this.#ms = 0;
  }
}
