const MISSING = 0;
const ARRIVING = 1;
const WRITTEN = 2;

/** The chunks of a copy on its way: which of them are missing, arriving or written, and their sums. */
export class Chunks {
  readonly #bytes: number;
  readonly #chunkBytes: number;
  readonly #state: Uint8Array;
  readonly #sums: bigint[];
  #written = 0;
  #next = 0;

  /**
   * @param bytes Bytes of the copy.
   * @param chunkBytes Bytes of a chunk; the last one may be shorter.
   */
  constructor(bytes: number, chunkBytes: number) {
    this.#bytes = bytes;
    this.#chunkBytes = chunkBytes;
    const count = Math.ceil(bytes / chunkBytes);
    this.#state = new Uint8Array(count);
    this.#sums = new Array<bigint>(count).fill(0n);
  }

  get count(): number {
    return this.#state.length;
  }

  /** XXH64 of each chunk. Complete once all have come. */
  get sums(): bigint[] {
    return this.#sums.slice();
  }

  lengthOf(chunk: number): number {
    const start = chunk * this.#chunkBytes;
    return Math.min(this.#bytes, start + this.#chunkBytes) - start;
  }

  /** Whether nobody has asked for a chunk yet. */
  isMissing(chunk: number): boolean {
    return this.#state[chunk] === MISSING;
  }

  isWritten(chunk: number): boolean {
    return this.#state[chunk] === WRITTEN;
  }

  get areWritten(): boolean {
    return this.#written === this.count;
  }

  /** Bytes of the chunks that were written. */
  get writtenBytes(): number {
    let bytes = 0;
    for (let chunk = 0; chunk < this.count; chunk++) if (this.isWritten(chunk)) bytes += this.lengthOf(chunk);
    return bytes;
  }

  /** Whether nobody has asked yet for some chunk of a range. */
  missesAny(offset: number, length: number): boolean {
    const from = Math.floor(offset / this.#chunkBytes);
    const until = Math.ceil((offset + length) / this.#chunkBytes);
    return this.#state.subarray(from, until).includes(MISSING);
  }

  /** A reader was up to this byte, and most readers go on. */
  goOnFrom(offset: number): void {
    this.#next = Math.ceil(offset / this.#chunkBytes);
  }

  /**
   * The next chunk that nobody has asked for: from where the last reader was onwards, then from the
   * beginning.
   */
  get missing(): number | undefined {
    const onwards = this.#state.indexOf(MISSING, this.#next);
    const chunk = onwards === -1 ? this.#state.indexOf(MISSING) : onwards;
    return chunk === -1 ? undefined : chunk;
  }

  asked(chunk: number): void {
    this.#state[chunk] = ARRIVING;
  }

  came(chunk: number, sum: bigint): void {
    this.#sums[chunk] = sum;
  }

  wrote(chunk: number): void {
    this.#state[chunk] = WRITTEN;
    this.#written += 1;
  }
}
